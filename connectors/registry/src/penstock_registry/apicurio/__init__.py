"""Converter for Avro, like Apicurio's AvroConverter."""
