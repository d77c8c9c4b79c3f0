"""`penstock import`: makes Connector manifests of connectors of Kafka Connect and of Strimzi."""
