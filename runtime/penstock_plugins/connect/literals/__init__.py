"""Values as literals, such as `[1, "a"]` and `2026-11-23`: `org.apache.kafka.connect.data.Values`."""
