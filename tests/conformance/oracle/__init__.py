"""Kafka Connect's own classes as the judge of a case.

*.java      one program that answers cases, a line of JSON each
building    compiles it against Kafka Connect's jars, once, into the cache
process     starts it, asks it, and starts it again when it ends or hangs
"""

from .process import Oracle, OracleError

__all__ = ["Oracle", "OracleError"]
