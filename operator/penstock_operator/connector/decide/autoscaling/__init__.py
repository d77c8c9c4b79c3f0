"""Decide the number of a sink's tasks from its lag. Pure."""
