"""Finds plugins by the names that configurations use, and loads them."""
