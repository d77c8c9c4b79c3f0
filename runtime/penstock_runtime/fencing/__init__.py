"""Decide which process may write: incarnations of tasks, and fencing before the tasks of a plan start."""
