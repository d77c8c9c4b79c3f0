"""Observe the state from which decisions are made."""
