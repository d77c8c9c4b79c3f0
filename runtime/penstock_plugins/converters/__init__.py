"""Built-in converters and header converters."""
