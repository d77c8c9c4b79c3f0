"""Connect's values as Java treats them: validation, numbers, texts, literals."""
