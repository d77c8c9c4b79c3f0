"""Converters for data whose schemas are in a schema registry."""
