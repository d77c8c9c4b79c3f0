"""Frozen values: what is observed of a Connector, what is kept of it, and what is decided for it."""
