"""A transform, a predicate and converters that fail for one value."""

from typing import Any

from penstock import Config, Converter, Header, HeaderConverter, Predicate, Record, Schema, Transform, prop
from telling import JOURNAL, Teller, error_of


class FailingConfig(Config):
    journal: str = JOURNAL
    on: str = prop("on", "", doc="The value that fails; `*`: every one.")
    error: str = prop("error", "data", doc="`retriable`, `data`, `fatal` or `other`.")
    times: int = prop("times", 1_000_000, doc="How often it fails.")


class Check:
    """Tells of each value, and fails for one of them."""

    def __init__(self, who: str, config: FailingConfig) -> None:
        self._who = who
        self._config = config
        self._tell = Teller(config.journal)
        self._failed = 0

    def __call__(self, value: Any) -> None:
        self._tell("apply", value=value)
        if self._config.on in ("*", value) and self._failed < self._config.times:
            self._failed += 1
            raise error_of(self._config.error, f"{self._who} refused {value}")


class Refusing(Transform):
    """Fails for one value, and passes on the others."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._check = Check("transform", config)

    def apply(self, record: Record) -> Record | None:
        self._check(record.value)
        return record


class Unsure(Predicate):
    """Matches every record but one, for which it fails."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._check = Check("predicate", config)

    def test(self, record: Record) -> bool:
        self._check(record.value)
        return True


class Picky(Converter):
    """Texts, but for one."""

    Config = FailingConfig

    def configure(self, config: FailingConfig, *, is_key: bool) -> None:
        self._check = Check("converter", config)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self._check(value)
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        text = None if data is None else data.decode()
        self._check(text)
        return None, text


class PickyHeaders(HeaderConverter):
    """Texts, but for one."""

    Config = FailingConfig

    def configure(self, config: FailingConfig) -> None:
        self._check = Check("header converter", config)

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        self._check(value)
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        text = None if data is None else data.decode()
        self._check(text)
        return Header(name, text)
