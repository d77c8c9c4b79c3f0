"""The built-in transforms, one module each."""
