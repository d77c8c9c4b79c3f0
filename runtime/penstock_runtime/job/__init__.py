"""The short pod: plans a connector, makes ready for its tasks, resets its offsets. Starts no JVM and imports no Spark."""
