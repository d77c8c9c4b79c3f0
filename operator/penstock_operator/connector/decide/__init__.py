"""Decide the next actions from an observation. Pure."""
