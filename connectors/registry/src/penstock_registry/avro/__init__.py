"""Converter for Avro, as Confluent's AvroConverter."""
