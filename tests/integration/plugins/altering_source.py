"""Sources and sinks with a word of their own about offsets that are altered. What they were asked is in the journal."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock import ConnectError
from scripted_sinks import RecordingSink
from scripted_sources import ScriptedSource
from telling import Teller


class Refusing(ScriptedSource):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        Teller(config.journal)("asked")
        told = ", ".join(f"{dict(p)}={o}" for p, o in offsets.items())
        raise ConnectError(f"offsets are kept elsewhere: {told}")


class RefusingSink(RecordingSink):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        raise ConnectError("custom refusal")


class Unsupporting(ScriptedSource):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        raise NotImplementedError


class Raising(ScriptedSource):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        raise KeyError("id")


class Understanding(ScriptedSource):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        Teller(config.journal)("asked", offsets=[[dict(p), o] for p, o in offsets.items()])
        return True


class Consuming(ScriptedSource):
    """Takes what it is given apart."""

    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        return all(offset.pop("i") >= 0 for offset in offsets.values())


class Hanging(ScriptedSource):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        Teller(config.journal)("asked")
        time.sleep(3_600)
        return True


class Waiting(ScriptedSource):
    """Answers once the file of `x.env` is there, as a process does that was frozen meanwhile."""

    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        Teller(config.journal)("asked")
        while not Path(config.environment).exists():
            time.sleep(0.05)
        return False


class WaitingAndUnderstanding(Waiting):
    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        super().alter_offsets(config, offsets)
        return True


class WaitingSink(RecordingSink):
    """Answers once the file `go-on` is there, beside the journal."""

    def alter_offsets(self, config: Any, offsets: Mapping[Any, Any]) -> bool:
        Teller(config.journal)("asked", offsets=[[dict(p), o] for p, o in offsets.items()])
        while not Path(config.journal).with_name("go-on").exists():
            time.sleep(0.05)
        return False
