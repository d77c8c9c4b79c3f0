"""Transforms of Debezium."""
