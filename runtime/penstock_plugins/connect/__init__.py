"""Connect's values as in Java: validation, numbers, text, literals."""
