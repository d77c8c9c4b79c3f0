"""Work of job pods: plan a connector, prepare for its tasks, change its offsets. Imports no Spark."""
