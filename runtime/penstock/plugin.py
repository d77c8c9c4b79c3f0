"""What every plugin is, and the small ones: transforms, predicates, converters.

A plugin is a class named by an entry point of the group `penstock.plugins`; the entry point's name is the alias that
configurations use, the distribution's version is the plugin's version. Plugin objects are never sent between processes:
each process builds its own from the class and the configuration.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from penstock.batch import RecordBatch
from penstock.config import Config
from penstock.record import Header, Record
from penstock.schema import Schema

__all__ = ["API_VERSION", "Converter", "HeaderConverter", "Plugin", "Predicate", "Transform"]

API_VERSION: Final = 1
"""Raised when a class of this package asks something new of plugins. A plugin states the version that it was written
for (`Plugin.api_version`); the runtime refuses one that is newer than itself."""


class Plugin(ABC):
    """The common part. A plugin is made without arguments; `configure` is called once, before anything else."""

    Config: ClassVar[type[Config]] = Config
    """The properties that this plugin takes."""

    api_version: ClassVar[int] = API_VERSION

    java_names: ClassVar[tuple[str, ...]] = ()
    """Class names of Kafka Connect for which this plugin stands in."""


class Transform(Plugin):
    """A single message transform (KIP-66). One object per task process and alias, used by one thread.

    `variants` holds the names after the `$` where a transform works on one side of a record; `side` is then `"key"` or
    `"value"` before `configure` is called.
    """

    variants: ClassVar[tuple[str, ...]] = ()
    side: str = "value"

    def configure(self, config: Any) -> None:
        """Take the parsed `Config`. Called once, before the first record.

        Raises:
            ConfigError: rules that the Config cannot say.
        """

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """The next form of the record, or None to drop it. Must leave `record` and its values unchanged.

        Raises:
            RetriableError: the same record is given again (`errors.retry.timeout`).
            Exception: this record fails; `errors.tolerance` decides.
        """

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """The same for many records at once, for speed; override it where columns gain.

        The result must be what `apply` gives for each record in turn; dropped rows leave by `take`. May change the
        dicts of `batch.value` in place only where `batch.owned`, and then so that doing it again changes nothing: when
        this raises, `apply` is called for each record of the same batch, to find the ones that fail; that it raised counts
        as no try of any record. The default calls nothing: see `has_batch_form`.
        """
        raise NotImplementedError

    @property
    def has_batch_form(self) -> bool:
        """Whether `apply_batch` is there."""
        return type(self).apply_batch is not Transform.apply_batch

    def close(self) -> None:
        """Let go of what `configure` took. Called once, nothing is called after it."""


class Predicate(Plugin):
    """Decides whether a transform is applied (KIP-585)."""

    def configure(self, config: Any) -> None:
        """Take the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record matches. An exception counts as one of the guarded transform."""

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """The same for many records: one answer for all of them, or one each. Override it where columns gain."""
        return [self.test(record) for record in batch.records()]

    def close(self) -> None:
        """Let go of what `configure` took. Called once, nothing is called after it."""


class Converter(Plugin):
    """Between Connect's data and the bytes of a record's key or value."""

    def configure(self, config: Any, *, is_key: bool) -> None:
        """Take the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of a value; None is a tombstone.

        Raises:
            DataError: the value does not fit its schema, or this format.
        """

    @abstractmethod
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """The schema and value of bytes.

        Raises:
            DataError: not this format.
        """

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        """Many values of one schema; when it raises, `from_connect` is called for each. Override it for speed.

        `values` is a list, or `Fields` where the values are held as columns.
        """
        topics = topic if isinstance(topic, list) else [topic] * len(values)
        return [self.from_connect(t, schema, v) for t, v in zip(topics, values, strict=True)]

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Many messages of one topic: their schema (one for all, or one each) and values, a list or `Fields`; as above."""
        pairs = [self.to_connect(topic, d) for d in data]
        schemas = [s for s, _ in pairs]
        first = schemas[0] if schemas else None
        return (first if all(s is first for s in schemas) else schemas), [v for _, v in pairs]


class HeaderConverter(Plugin):
    """Between Connect's data and the bytes of a header."""

    reads_anything: ClassVar[bool] = False
    """`to_connect` cannot fail: the headers of sink records are then read only when somebody asks for their values.

    Said by the class that has that `to_connect`; one that has another is not bound by it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "to_connect" in vars(cls) and "reads_anything" not in vars(cls):
            cls.reads_anything = False

    def configure(self, config: Any) -> None:
        """Take the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of a header's value."""

    @abstractmethod
    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """The header of bytes."""
