"""Work of job pods: plan a connector, prepare for its tasks, change its offsets. Starts no JVM and imports no Spark."""
