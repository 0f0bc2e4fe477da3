"""Built-in plugin."""
