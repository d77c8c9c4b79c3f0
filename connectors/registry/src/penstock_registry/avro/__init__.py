"""Converter for Avro, like Confluent's AvroConverter."""
