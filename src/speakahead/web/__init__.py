"""The page on which one asks the agent, hears it, and sees when what happened."""
