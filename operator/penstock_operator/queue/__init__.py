"""Work queue, and the sources of its keys."""
