"""A source with a word of its own about offsets that are altered."""

from collections.abc import Mapping
from typing import Any

from penstock import ConnectError
from penstock.offsets import Offset, SourcePartition
from scripted_sources import ScriptedSource


class Refusing(ScriptedSource):
    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        told = ", ".join(f"{dict(p)}={o}" for p, o in offsets.items())
        raise ConnectError(f"offsets are kept elsewhere: {told}")
