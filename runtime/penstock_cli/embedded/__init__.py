"""Embedded Kafka: a real KRaft broker as a child process, for `penstock run` and for tests.

Nothing else in Penstock starts Java for Kafka. Modules:

    broker    `EmbeddedKafka`: start and stop a broker on a data folder
    jars      Kafka's jars, fetched once into a cache
    archive   a class-data archive, created once, that halves the start time
    jvm       the command line of a Kafka program
    folder    the data folder: cluster id and ports
    lock      the lock of a data folder: one process at a time
    settings  the broker's settings and its logging

`formatting` creates Kafka's own folder, and `broker_process` is the child process.
"""

from penstock_cli.embedded.broker import EmbeddedKafka

__all__ = ["EmbeddedKafka"]
