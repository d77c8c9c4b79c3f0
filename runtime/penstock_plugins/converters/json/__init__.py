"""JsonConverter, byte for byte as Kafka Connect's.

msgspec reads and writes whatever it treats as Jackson does; the rest goes the exact way, one value at a time: `parser` and
`nodes` for reading, `writer` for writing.
"""
