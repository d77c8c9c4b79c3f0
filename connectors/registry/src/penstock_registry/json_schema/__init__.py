"""Converter for JSON with JSON Schemas, like Confluent's JsonSchemaConverter."""
