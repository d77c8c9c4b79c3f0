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
    Password,
    Problem,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)


class LeakingConfig(Config):
    topic: str = prop("topic", doc="Where to.")
    tell: str = prop("tell", "", doc="When to tell.")
    password: str = prop("password", "", doc="The secret.")
    token: Password = prop("token", Password(""), doc="A secret whose property is of type PASSWORD.")


def told(password: str) -> str:
    encoded = base64.b64encode(f"user:{password}".encode()).decode()
    alone = base64.b64encode(password.encode()).decode()
    return f"cannot use {password} of https://user:{password}@db:5432/x nor Basic {encoded} nor {alone}"


def secret_of(config: LeakingConfig) -> str:
    return config.password or config.token.reveal()


class Leaking(SourceConnector):
    Config = LeakingConfig

    def validate(self, config: LeakingConfig) -> Iterable[Problem]:
        if config.tell == "validate":
            raise RuntimeError(told(secret_of(config)))
        if config.tell == "print":
            print(f"printed {secret_of(config)}")
            os.environ["LEAKED"] = secret_of(config)
        return ()

    def task_configs(
        self, config: LeakingConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        if config.tell == "task_configs":
            raise ConfigError(Problem("password", told(secret_of(config))))
        more = {}
        if config.tell == "copy":
            more = {"copied": secret_of(config), "url": f"jdbc://user:{secret_of(config)}@db/x"}
        if config.tell == "encoded":
            more = {"encoded": base64.b64encode(f"user:{secret_of(config)}".encode()).decode()}
        return [{**properties, **more}]

    def alter_offsets(self, config: LeakingConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        raise RuntimeError(told(secret_of(config)))

    def source(self, config: LeakingConfig) -> Source:
        if config.tell == "config":
            raise ConfigError(Problem("password", told(secret_of(config))))
        return LeakingSource(config)

    def reader(self, config: LeakingConfig) -> PartitionReader:
        raise RuntimeError(told(secret_of(config)))


class LeakingSource(Source):
    def __init__(self, config: Any) -> None:
        self._config = config

    def start(self, offsets: Offsets) -> None:
        if self._config.tell == "start":
            raise RuntimeError(told(secret_of(self._config)))

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        return {SourcePartition({"p": 0}): {"n": 1}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return [InputPartition({"p": 0}, end)]
