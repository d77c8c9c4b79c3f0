"""Java's own ways, where what Kafka Connect does depends on them. Knows nothing of Penstock."""
