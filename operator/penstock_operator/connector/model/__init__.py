"""Immutable data of a reconciliation: the observation of a Connector, its persisted state, and the decision."""
