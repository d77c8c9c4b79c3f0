"""Converter for Avro, as Apicurio's AvroConverter."""
