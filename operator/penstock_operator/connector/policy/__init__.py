"""Limits that the release and the resources of a namespace set for a Connector, and what they add to it."""
