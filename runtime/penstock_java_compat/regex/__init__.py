"""Java's regular expressions, which configurations of Kafka Connect contain: topics, topic groups, routers, predicates.

compiled     `compile_java` and the methods of a compiled pattern
translation  a Java pattern in the syntax of the `regex` package
scanner, escapes, sets, classes  the parts of a pattern
"""

from penstock_java_compat.regex.classes import PatternError
from penstock_java_compat.regex.compiled import JavaPattern, compile_java, matching_within

__all__ = ["JavaPattern", "PatternError", "compile_java", "matching_within"]
