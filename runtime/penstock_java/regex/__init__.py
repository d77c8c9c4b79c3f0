"""Java's regular expressions, which are what Kafka Connect's users write: topics, topic groups, routers, predicates.

compiled     `compile_java` and what a compiled pattern does
translation  a Java pattern as the `regex` package writes it
scanner, escapes, sets, classes  the parts of a pattern
"""

from penstock_java.regex.classes import PatternError
from penstock_java.regex.compiled import JavaPattern, compile_java

__all__ = ["JavaPattern", "PatternError", "compile_java"]
