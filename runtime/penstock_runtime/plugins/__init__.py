"""Find plugins by the names that configurations use, and load them."""
