"""Reader of manifests: Kubernetes YAML, and Kafka Connect's own files."""
