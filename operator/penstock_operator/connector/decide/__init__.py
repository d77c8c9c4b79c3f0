"""Decide what follows from what was observed. Pure."""
