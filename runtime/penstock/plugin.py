"""The base class of all plugins, and those of transforms, predicates and converters.

A plugin is a class named by an entry point of the group `penstock.plugins`; the name of the entry point is the alias that
configurations use, and the version of the distribution is the version of the plugin. Plugin objects are never sent between
processes: each process builds its own from the class and the configuration.
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
"""Counted up when a class of this package requires something new of plugins. A plugin states the version that it was
written for (`Plugin.api_version`); a runtime refuses a plugin that was written for a newer version than its own."""


class Plugin(ABC):
    """The base class of all plugins.

    A plugin is made without arguments; `configure` is called once, before anything else.
    """

    Config: ClassVar[type[Config]] = Config
    """The properties that this plugin takes."""

    api_version: ClassVar[int] = API_VERSION

    java_names: ClassVar[tuple[str, ...]] = ()
    """Class names of Kafka Connect in place of which this plugin runs."""

    context: PluginContext
    """Where this object runs; set by the runtime, before any method is called. Until then that of a test."""

    def __new__(cls, *arguments: object, **options: object) -> Self:  # not `__init__`, which plugins need not call
        """A new object, with metrics of its own."""
        made = super().__new__(cls)
        object.__setattr__(made, "context", PluginContext())  # also of a frozen dataclass
        return made


class Transform(Plugin):
    """A single message transform (KIP-66). Each task process has one object per alias, used by one thread.

    A transform that works on one side of a record lists the names after the `$` in `variants` (`("Key", "Value")`).
    `side` is then set to `"key"` or `"value"` before `configure` is called.
    """

    variants: ClassVar[tuple[str, ...]] = ()
    side: str = "value"

    def configure(self, config: Any) -> None:
        """Take the parsed `Config`. Called once, before the first record.

        Raises:
            ConfigError: the configuration breaks a rule that the `Config` cannot express.
        """

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """Transform one record. `record` and its values must stay unchanged.

        Returns:
            The transformed record, or None to drop it.

        Raises:
            RetriableError: the same record is given again (`errors.retry.timeout`).
            Exception: this record fails; `errors.tolerance` decides.
        """

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Transform many records at once. Override it where columns are faster.

        The result must be what `apply` gives for each record in turn; drop rows by `take`. If `apply` fails for a record of
        the batch, this must raise, and if `apply` fails for none, it must not. `apply` is then called for each record of the
        same batch, to find those that fail; the failed batch counts as no try of any record. The dicts of `batch.value` may
        be changed in place only if `batch.owned`, and only so that a second call changes nothing more.

        The default is not called: see `has_batch_form`.
        """
        raise NotImplementedError

    @property
    def has_batch_form(self) -> bool:
        """Whether the class overrides `apply_batch`."""
        return type(self).apply_batch is not Transform.apply_batch

    def close(self) -> None:
        """Release what `configure` has opened. Called once, also after a `configure` that raised; nothing follows it.

        It is called wherever the object was made: in planning, and in each process of a task when that ends in order or
        makes its chain again. A process that is killed closes nothing. What this raises is logged.
        """


class Predicate(Plugin):
    """Decides whether a transform is applied to a record (KIP-585)."""

    def configure(self, config: Any) -> None:
        """Take the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record matches. An exception counts as a failure of the transform that names this predicate."""

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """Test many records: one answer for all of them, or a list with one each. Override it where columns are faster."""
        return [self.test(record) for record in batch.records()]

    def close(self) -> None:
        """Release what `configure` has opened. Called once, also after a `configure` that raised; nothing follows it.

        It is called wherever the object was made: in planning, and in each process of a task when that ends in order or
        makes its chain again. A process that is killed closes nothing. What this raises is logged.
        """


class Converter(Plugin):
    """Converts between Connect's data and the bytes of a record's key or value."""

    def configure(self, config: Any, *, is_key: bool) -> None:
        """Take the parsed `Config`. Called once, before the first record."""

    @abstractmethod
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of a value, or None for a tombstone.

        Raises:
            DataError: the value does not fit its schema, or this format.
        """

    @abstractmethod
    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """The schema and the value that bytes hold.

        Raises:
            DataError: the bytes are not of this format.
        """

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        """The bytes of many values of one schema. Override it for speed. When it raises, `from_connect` is called for each.

        Args:
            topic: of all values, or a list with one for each.
            schema: of all values.
            values: a list, or `Fields` if the values are held as columns.
        """
        topics = topic if isinstance(topic, list) else [topic] * len(values)
        return [self.from_connect(t, schema, v) for t, v in zip(topics, values, strict=True)]

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """The schemas and values of many messages of one topic. When this raises, `to_connect` is called for each.

        Returns:
            One schema for all, or a list with one each; and the values, as a list or as `Fields`.
        """
        pairs = [self.to_connect(topic, d) for d in data]
        return common_schema([s for s, _ in pairs]), [v for _, v in pairs]

    def close(self) -> None:
        """Release what `configure` has opened, as `Transform.close`."""


class HeaderConverter(Plugin):
    """Converts between Connect's data and the bytes of a header."""

    reads_anything: ClassVar[bool] = False
    """Whether `to_connect` cannot fail. The headers of sink records are then converted only when their values are read.

    Set it in the class that defines `to_connect`: a subclass with a `to_connect` of its own starts with False again.
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
        """The header that bytes hold."""

    def close(self) -> None:
        """Release what `configure` has opened, as `Transform.close`."""
