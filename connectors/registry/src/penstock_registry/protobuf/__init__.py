"""Converter for Protobuf, like Confluent's ProtobufConverter."""
