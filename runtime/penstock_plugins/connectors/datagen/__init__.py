"""Datagen: a source of random records."""
