"""The work queue, and the sources of its keys."""
