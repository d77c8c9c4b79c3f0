"""Decide the Spark executors of tasks. These decisions never affect the tasks. Pure."""
