"""Connect's values as Java sees them: validation, numbers, texts."""
