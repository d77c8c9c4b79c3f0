"""Behavior of Java that Kafka Connect depends on, in Python. Independent of Penstock."""
