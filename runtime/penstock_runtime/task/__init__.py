"""Process of a task: `python -m penstock_runtime.task SPEC`."""
