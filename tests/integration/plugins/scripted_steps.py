"""A transform, a predicate and converters that fail for one value."""

from typing import Any

from penstock import Config, Converter, DataError, Header, HeaderConverter, Predicate, Record, Schema, Transform, prop
from telling import JOURNAL, Teller, error_of


class FailingConfig(Config):
    journal: str = JOURNAL
    on: str = prop("on", "", doc="The value that fails; `*`: every one.")
    error: str = prop("error", "data", doc="`retriable`, `data`, `fatal` or `other`.")
    times: int = prop("times", 1_000_000, doc="How often it fails.")


class Refusing(Transform):
    """Fails for one value, and passes on the others."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._failed = 0

    def apply(self, record: Record) -> Record | None:
        self._tell("apply", value=record.value)
        if self._config.on in ("*", record.value) and self._failed < self._config.times:
            self._failed += 1
            raise error_of(self._config.error, f"transform refused {record.value}")
        return record


class Unsure(Predicate):
    """Matches every record but one, for which it fails."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._on = config.on

    def test(self, record: Record) -> bool:
        if record.value == self._on:
            raise DataError(f"predicate refused {record.value}")
        return True


class Picky(Converter):
    """Texts, but for one."""

    Config = FailingConfig

    def configure(self, config: FailingConfig, *, is_key: bool) -> None:
        self._on = config.on

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self._check(value)
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        text = None if data is None else data.decode()
        self._check(text)
        return None, text

    def _check(self, text: Any) -> None:
        if text == self._on:
            raise DataError(f"converter refused {text}")


class PickyHeaders(HeaderConverter):
    """Texts, but for one."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._on = config.on

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        text = None if data is None else data.decode()
        if text == self._on:
            raise DataError(f"header converter refused {text}")
        return Header(name, text)
