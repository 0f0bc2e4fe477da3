"""The public API: all that a plugin may import."""
