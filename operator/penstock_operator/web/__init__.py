"""Operator's part of the console: its data, access control, and the relay from standbys to the leader."""
