"""SqlSink with the property names of Debezium's JDBC sink, and with Debezium's change events as input."""
