"""Process of an executor in a pod: a Spark Worker for the Master of one task (`spec.spark.executors`)."""
