"""A sink task: assign, read, write, commit."""
