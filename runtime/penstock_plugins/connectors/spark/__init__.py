"""SparkSink writes with Spark's DataFrame writers; SparkDataSource reads from data sources written for PySpark."""
