"""The built-in converters and header converters."""
