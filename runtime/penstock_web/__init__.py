"""Console, and Kafka Connect's REST API, over resources that the operator or `penstock run` supplies."""
