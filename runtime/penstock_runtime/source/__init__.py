"""A source task: read, deliver, commit."""
