"""The chat session in a terminal."""
