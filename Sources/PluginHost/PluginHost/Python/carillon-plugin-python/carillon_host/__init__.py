"""The process of a plugin in Python; `carillon` is its interface for the plugin."""
