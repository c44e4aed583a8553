"""The process that a plugin in Python runs in; `carillon` is what the plugin sees of it."""
