"""Frozen values: the observation of a Connector, its persisted state, and the decision for it."""
