"""Source task: read, deliver, commit."""
