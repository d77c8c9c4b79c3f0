"""Java behavior that Kafka Connect depends on, in Python. Independent of Penstock."""
