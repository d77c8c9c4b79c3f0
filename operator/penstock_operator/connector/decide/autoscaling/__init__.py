"""Decide how many tasks a sink has, by its lag. Pure."""
