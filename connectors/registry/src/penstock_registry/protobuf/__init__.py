"""Converter for Protobuf, as Confluent's ProtobufConverter."""
