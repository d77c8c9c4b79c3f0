"""The work queue, and what puts keys into it."""
