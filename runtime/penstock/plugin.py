"""Base classes of plugins: all plugins, transforms, predicates and converters.

A plugin is a class registered as an entry point in the group `penstock.plugins`. The name of the entry point is the alias
used in configurations, and the version of the distribution is the version of the plugin. Plugin objects are never sent
between processes: each process creates its own from the class and the configuration.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

from penstock._common_schema import common_schema
from penstock.batch import RecordBatch
from penstock.config import Config
from penstock.context import PluginContext
from penstock.record import Header, Record
from penstock.schema import Schema

__all__ = ["API_VERSION", "Converter", "HeaderConverter", "Plugin", "Predicate", "Transform"]

API_VERSION: Final = 1
"""Version of the plugin API, increased when a class of this package adds a requirement for plugins. A plugin declares the
version that it was written for (`Plugin.api_version`); a runtime rejects plugins written for a newer version."""


class Plugin(ABC):
    """Base class of all plugins.

    A plugin is created without arguments; `configure` is called once, before any other method.
    """

    Config: ClassVar[type[Config]] = Config
    """The properties that this plugin accepts."""

    api_version: ClassVar[int] = API_VERSION

    java_names: ClassVar[tuple[str, ...]] = ()
    """Names of the Kafka Connect classes that this plugin replaces."""

    context: PluginContext
    """Context of this object, set by the runtime before any method is called. By default, a context for tests."""

    def __new__(cls, *arguments: object, **options: object) -> Self:  # not `__init__`, which plugins need not call
        """Create an object with its own metrics."""
        made = super().__new__(cls)
        object.__setattr__(made, "context", PluginContext())  # also of a frozen dataclass
        return made


class Transform(Plugin):
    """Single message transform (KIP-66). Each task process has one object per alias, called from one thread.

    A transform that works on either the key or the value lists the class name suffixes in `variants` (`("Key", "Value")`,
    used as `Name$Key`). `side` is then set to `"key"` or `"value"` before `configure` is called.
    """

    variants: ClassVar[tuple[str, ...]] = ()
    side: str = "value"

    def configure(self, config: Any) -> None:
        """Accept the parsed `Config`. Called once, before the first record.

        Raises:
            ConfigError: the configuration violates a rule that the `Config` cannot express.
        """

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """Transform one record. `record` and its values must not be modified.

        Returns:
            The transformed record, or None to drop it.

        Raises:
            RetriableError: the call is repeated with the same record (`errors.retry.timeout`).
            Exception: the record fails; `errors.tolerance` decides whether the task does, too.
        """

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Transform a batch of records. Override it if working on columns is faster.

        The result must equal that of `apply` for each record in turn; drop rows with `take`. If `apply` would fail for a
        record of the batch, this method must raise, and otherwise it must not. After an error, `apply` is called for each
        record of the same batch, to find those that fail; the failed batch does not count as an attempt for any record. The
        dicts of `batch.value` may be modified in place only if `batch.owned`, and only idempotently.

        The default is never called: see `has_batch_form`.
        """
        raise NotImplementedError

    @property
    def has_batch_form(self) -> bool:
        """Return whether the class overrides `apply_batch`."""
        return type(self).apply_batch is not Transform.apply_batch

    def close(self) -> None:
        """Release the resources acquired by `configure`. Called once, as the last method, even if `configure` raised.

        Called during planning, and in each process of a task when the process exits normally or rebuilds its chain. Not
        called in a process that is killed. Exceptions are logged.
        """


class Predicate(Plugin):
    """Predicate that decides whether a transform is applied to a record (KIP-585)."""

    def configure(self, config: Any) -> None:
        """Accept the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Return whether the record matches. An exception counts as a failure of the transform that uses this predicate."""

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """Return one result for all records, or a list with one per record. Override it if working on columns is faster."""
        return [self.test(record) for record in batch.records()]

    def close(self) -> None:
        """Release the resources acquired by `configure`. Called once, as the last method, even if `configure` raised.

        Called during planning, and in each process of a task when the process exits normally or rebuilds its chain. Not
        called in a process that is killed. Exceptions are logged.
        """


class Converter(Plugin):
    """Converter between Connect's data and the bytes of a record's key or value.

    A part of a message, such as the schema ID, may be in headers of its record. All other methods work on complete messages:
    `join_headers` adds that part before a message is deserialized, and `split_headers` moves it to headers after a message
    was serialized.
    """

    reads_headers: bool = False
    """Whether `join_headers` is called. Set it in `configure` if it depends on the configuration."""
    writes_headers: bool = False
    """Whether `split_headers` is called. Set it in `configure` if it depends on the configuration."""

    def configure(self, config: Any, *, is_key: bool) -> None:
        """Accept the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Serialize a value; return None for a tombstone.

        Raises:
            DataError: the value does not match its schema, or cannot be represented in this format.
        """

    @abstractmethod
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Deserialize bytes; return the schema and the value.

        Raises:
            DataError: the bytes are not in this format.
        """

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        """Serialize many values with one schema. Override it for speed. If it raises, `from_connect` is called for each.

        Args:
            topic: the topic of all values, or a list with one topic for each.
            schema: the schema of all values.
            values: a list, or `Fields` if the values are stored as columns.
        """
        topics = topic if isinstance(topic, list) else [topic] * len(values)
        return [self.from_connect(t, schema, v) for t, v in zip(topics, values, strict=True)]

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Deserialize many messages of one topic. If this raises, `to_connect` is called for each.

        Returns:
            One schema for all values, or a list with one for each; and the values, as a list or as `Fields`.
        """
        pairs = [self.to_connect(topic, d) for d in data]
        return common_schema([s for s, _ in pairs]), [v for _, v in pairs]

    def join_headers(self, data: bytes, headers: Sequence[tuple[str, bytes | None]]) -> bytes:
        """Return the message in the form that `to_connect` reads. Called for each message whose record has headers.

        Args:
            data: the key or value in Kafka.
            headers: names and bytes of the headers of its record; of several with the same name, the last one applies.

        Raises:
            DataError: the headers are not in this format.
        """
        return data

    def split_headers(self, data: bytes) -> tuple[bytes, Sequence[tuple[str, bytes | None]]]:
        """Return the key or value for Kafka, and the headers to append to its record. Must not fail.

        Args:
            data: the message that `from_connect` returned.

        A header is not appended if it equals the record's last header of that name.
        """
        return data, ()

    def close(self) -> None:
        """Release the resources acquired by `configure`, like `Transform.close`."""


class HeaderConverter(Plugin):
    """Converter between Connect's data and the bytes of a header."""

    reads_anything: ClassVar[bool] = False
    """Whether `to_connect` never fails. Headers of sink records are then converted only when their values are read.

    Set it in the class that defines `to_connect`: it is reset to False for a subclass that overrides `to_connect`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "to_connect" in vars(cls) and "reads_anything" not in vars(cls):
            cls.reads_anything = False

    def configure(self, config: Any) -> None:
        """Accept the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Serialize the value of a header."""

    @abstractmethod
    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """Deserialize the value of a header, and return the header."""

    def close(self) -> None:
        """Release the resources acquired by `configure`, like `Transform.close`."""
