"""A voice agent: its words are spoken while it is still writing them."""
