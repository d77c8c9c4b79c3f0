"""`penstock import`: converts connectors of Kafka Connect and of Strimzi to Connector manifests."""
