"""Other projects that speak with Kokoro, measured beside speakahead; see ``comparison``."""
