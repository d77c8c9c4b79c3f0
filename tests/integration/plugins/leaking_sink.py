"""A sink whose writer prints its password, and which process it is in."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from penstock import Config, RecordBatch, Reporter, Sink, SinkConnector, Writer, prop


class LeakingConfig(Config):
    password: str = prop("password", doc="The secret.")


class Leaking(SinkConnector):
    Config = LeakingConfig

    def sink(self, config: LeakingConfig) -> Sink:
        return Sink()

    def writer(self, config: LeakingConfig) -> Writer:
        return LeakingWriter(config)


class LeakingWriter(Writer):
    def __init__(self, config: LeakingConfig) -> None:
        self._config = config
        self._told = False

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        if not self._told:
            self._told = True
            print(f"printed {self._config.password} in {os.getpid()}")
            print(f"complained {self._config.password} in {os.getpid()}", file=sys.stderr)
