"""Embedded Kafka: a real KRaft broker as a child process, for `penstock run` and for tests.

Nothing else in Penstock starts Java for Kafka. Modules:

    broker    `EmbeddedKafka`: start and stop a broker on a data folder
    jars      Kafka's jars, fetched once into a cache
    archive   a class-data archive, made once, that halves the start
    jvm       the command line of a Kafka program
    folder    the data folder: cluster id, ports, formatting
    lock      one process at a time on a data folder
    process   the child process: ready, dead, stopped
    settings  the broker's settings and its logging
"""

from penstock_cli.embedded.broker import EmbeddedKafka

__all__ = ["EmbeddedKafka"]
