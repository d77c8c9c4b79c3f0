"""Datagen: made-up records."""
