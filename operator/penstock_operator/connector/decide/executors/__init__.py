"""Decide about the Spark executors of tasks, which never decide anything about the tasks. Pure."""
