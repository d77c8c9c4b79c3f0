"""Sink task: assign, read, write, commit."""
