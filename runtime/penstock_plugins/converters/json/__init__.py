"""JsonConverter, byte for byte as Kafka Connect's.

msgspec reads and writes everything that it treats as Jackson does; the rest is converted exactly, one value at a time:
`parser` and `nodes` for reading, `writer` for writing.
"""
