"""Processing of records: transforms, predicates, converters, and handling of records that fail."""
