"""JsonConverter, byte for byte as Kafka Connect's: msgspec where it agrees with Jackson, an exact way where it does not."""
