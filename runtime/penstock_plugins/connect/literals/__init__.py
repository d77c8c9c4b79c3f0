"""Values as the texts that people write: `org.apache.kafka.connect.data.Values`."""
