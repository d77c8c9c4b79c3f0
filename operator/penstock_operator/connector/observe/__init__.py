"""Observe the state on which decisions are based."""
