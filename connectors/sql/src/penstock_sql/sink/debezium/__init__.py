"""SqlSink by the property names of Debezium's JDBC sink, with Debezium's change events as input."""
