"""The work of job pods: plan a connector, prepare for its tasks, reset its offsets. Starts no JVM and imports no Spark."""
