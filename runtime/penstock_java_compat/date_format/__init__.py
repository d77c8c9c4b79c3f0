"""Java's `SimpleDateFormat`, which defines the date patterns of Kafka Connect.

format          the class itself
pattern         a pattern as pieces
printing        instants as text
parsing         text as fields; numbers, letters and zones read parts of it
fields          fields as an instant
standard_texts  a fast path for text like 2024-02-29 14:34:56
zone_names      the names of time zones
"""

from penstock_java_compat.date_format.format import SimpleDateFormat
from penstock_java_compat.date_format.parsing import TextError
from penstock_java_compat.date_format.pattern import PatternError
from penstock_java_compat.date_format.zones import rules_are_there

__all__ = ["PatternError", "SimpleDateFormat", "TextError", "rules_are_there"]
