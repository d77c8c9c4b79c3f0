"""Converter for JSON with JSON Schemas, as Confluent's JsonSchemaConverter."""
