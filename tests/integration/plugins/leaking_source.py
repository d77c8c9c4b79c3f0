"""A source that tells its password where a test wants it to."""

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock import (
    Config,
    ConfigError,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    PartitionReader,
    Problem,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)


class LeakingConfig(Config):
    topic: str = prop("topic", doc="Where to.")
    tell: str = prop("tell", "", doc="When to tell.")
    password: str = prop("password", doc="The secret.")


def told(password: str) -> str:
    encoded = base64.b64encode(f"user:{password}".encode()).decode()
    alone = base64.b64encode(password.encode()).decode()
    return f"cannot use {password} of https://user:{password}@db:5432/x nor Basic {encoded} nor {alone}"


class Leaking(SourceConnector):
    Config = LeakingConfig

    def validate(self, config: LeakingConfig) -> Iterable[Problem]:
        if config.tell == "validate":
            raise RuntimeError(told(config.password))
        if config.tell == "print":
            print(f"printed {config.password}")
            os.environ["LEAKED"] = config.password
        return ()

    def task_configs(
        self, config: LeakingConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        if config.tell == "task_configs":
            raise ConfigError(Problem("password", told(config.password)))
        more = {}
        if config.tell == "copy":
            more = {"copied": config.password, "url": f"jdbc://user:{config.password}@db/x"}
        if config.tell == "encoded":
            more = {"encoded": base64.b64encode(f"user:{config.password}".encode()).decode()}
        return [{**properties, **more}]

    def alter_offsets(self, config: LeakingConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        raise RuntimeError(told(config.password))

    def source(self, config: LeakingConfig) -> Source:
        if config.tell == "config":
            raise ConfigError(Problem("password", told(config.password)))
        return LeakingSource(config)

    def reader(self, config: LeakingConfig) -> PartitionReader:
        raise RuntimeError(told(config.password))


class LeakingSource(Source):
    def __init__(self, config: Any) -> None:
        self._config = config

    def start(self, offsets: Offsets) -> None:
        if self._config.tell == "start":
            raise RuntimeError(told(self._config.password))

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        return {SourcePartition({"p": 0}): {"n": 1}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [InputPartition({"p": 0}, end)]
