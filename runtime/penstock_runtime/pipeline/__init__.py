"""From records to records: transforms, predicates, converters, and what happens to records that fail."""
