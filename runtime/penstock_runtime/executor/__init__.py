"""Process of an executor in a pod: a Worker of Spark for the Master of one task (`spec.spark.executors`)."""
