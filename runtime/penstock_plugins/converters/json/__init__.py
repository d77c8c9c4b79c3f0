"""JsonConverter, byte for byte as in Kafka Connect.

msgspec converts the messages and values for which it agrees with Jackson. All others are converted exactly, one
value at a time: by `parser` and `nodes` for reading, and by `writer` for writing.
"""
