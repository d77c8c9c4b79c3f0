"""SparkSink and SparkDataSource: whatever Spark writes, and data sources written for PySpark."""
