"""JsonConverter, byte for byte as in Kafka Connect.

msgspec reads and writes everything that it handles like Jackson; the rest is converted exactly, one value at a time:
`parser` and `nodes` for reading, `writer` for writing.
"""
