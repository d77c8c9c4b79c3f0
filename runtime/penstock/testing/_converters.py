"""Test suite for converters."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from penstock.errors import DataError
from penstock.fields import Fields, Same
from penstock.plugin import Converter
from penstock.schema import Schema
from penstock.testing._comparison import exactly, misfit
from penstock.testing._making import make, parsed
from penstock.testing._plugins import PluginSuite

__all__ = ["ConverterSuite"]


class ConverterSuite(PluginSuite):
    """Tests of a converter.

    Attributes:
        values: pairs of schema and value, including some that the converter rejects.
        messages: bytes to deserialize in addition to those that the converter wrote, including invalid ones.
        faithful: whether deserializing returns exactly the serialized value and schema.
    """

    values: ClassVar[Sequence[tuple[Schema | None, Any]]] = ()
    messages: ClassVar[Sequence[bytes | None]] = (None, b"", b"\xff\x00", b"{", b"text", b"1", b'{"a":1}')
    faithful: ClassVar[bool] = False

    def configured(self, request: Any, *, is_key: bool = False) -> Converter:
        """Return a new converter with the example configuration."""
        converter: Converter = make(self.plugin)
        converter.configure(parsed(self.plugin, self.example(request)), is_key=is_key)
        return converter

    def test_bytes_come_out_or_a_data_error(self, request: Any) -> None:
        """A value that does not match its schema raises a `DataError`, and values are not modified."""
        assert self.values, "set `values` in the suite: pairs of a schema and a value"
        for is_key in (False, True):
            converter = self.configured(request, is_key=is_key)
            before = exactly(list(self.values))
            for schema, value in self.values:
                found = _outcome(converter.from_connect, "t", schema, value)
                assert found[0] == "failed" or found[1] is None or type(found[1]) is bytes, (
                    f"{value!r} was converted to {found[1]!r}, which is not bytes"
                )
            assert exactly(list(self.values)) == before, "`from_connect` modified a value"

    def test_values_come_out_that_fit_their_schema_or_a_data_error(self, request: Any) -> None:
        """A message in another format raises a `DataError`."""
        converter = self.configured(request)
        for data in self._messages(converter):
            kind, found = _outcome(converter.to_connect, "t", data)
            if kind == "given":
                schema, value = found
                assert (wrong := misfit(schema, value)) is None, (
                    f"the message {data!r} was converted to an invalid value: {wrong}"
                )

    def test_what_was_written_can_be_read_and_stays_what_it_is(self, request: Any) -> None:
        """A second round trip changes nothing; a faithful converter reads exactly the value that it wrote."""
        converter = self.configured(request)
        for schema, value in self.values:
            kind, data = _outcome(converter.from_connect, "t", schema, value)
            if kind == "failed":
                continue
            read = converter.to_connect("t", data)
            again = converter.to_connect("t", converter.from_connect("t", *read))
            assert exactly(again) == exactly(read), (
                f"{value!r} was written as {data!r}, which a second round trip changes"
            )
            if self.faithful:
                assert exactly(read) == exactly((schema, value)), (
                    f"{value!r} was written as {data!r} and read as {read!r}"
                )

    def test_what_was_read_and_written_before_does_not_count(self, request: Any) -> None:
        """The same bytes always become the same value, and the same value always becomes the same bytes."""
        one, other = self.configured(request), self.configured(request)
        messages = self._messages(one)
        read = [exactly(_outcome(one.to_connect, "t", data)) for data in messages]
        again = [exactly(_outcome(other.to_connect, "t", data)) for data in messages[::-1]]
        assert again[::-1] == read, "the value of a message depends on the messages before it"
        written = [_outcome(one.from_connect, "t", schema, value) for schema, value in self.values]
        backwards = [_outcome(other.from_connect, "t", schema, value) for schema, value in self.values[::-1]]
        assert backwards[::-1] == written, "the bytes of a value depend on the values before it"

    def test_what_was_split_is_joined_again(self, request: Any) -> None:
        """Joining a message with its headers restores the message that was split."""
        converter = self.configured(request)
        for data in self._messages(converter):
            if data is not None and _outcome(converter.to_connect, "t", data)[0] == "given":
                left, headers = converter.split_headers(data)
                joined = converter.join_headers(left, headers)
                assert exactly(converter.to_connect("t", joined)) == exactly(converter.to_connect("t", data))

    def test_a_tombstone_stays_one(self, request: Any) -> None:
        """Null without a schema becomes a tombstone, which is read as null; both may raise a `DataError`."""
        converter = self.configured(request)
        written, read = _outcome(converter.from_connect, "t", None, None), _outcome(converter.to_connect, "t", None)
        assert written[0] == "failed" or written[1] is None, (
            f"null without a schema was written as {written[1]!r}, not as a tombstone"
        )
        assert read[0] == "failed" or read[1][1] is None, f"a tombstone was read as {read[1]!r}, not as null"

    def test_the_batch_forms_give_what_the_single_forms_give(self, request: Any) -> None:
        """Batch methods agree with single calls.

        They get values with one schema, as a list or as columns, and messages of one topic.
        """
        converter = self.configured(request)
        schemas = dict.fromkeys(schema for schema, _ in self.values)
        for schema in schemas:
            values = [v for s, v in self.values if s == schema]
            for some in (values, *([v] for v in values)):
                single = [_outcome(converter.from_connect, "t", schema, v) for v in some]
                for topic in ("t", ["t"] * len(some)):
                    for form in _forms(some):
                        self._agree(_outcome(converter.from_connect_batch, topic, schema, form), single)
        messages = self._messages(converter)
        for data in (messages, *([m] for m in messages)):
            single = [_outcome(converter.to_connect, "t", d) for d in data]
            kind, found = _outcome(converter.to_connect_batch, "t", data)
            if kind == "given":
                shapes = found[0] if isinstance(found[0], list) else [found[0]] * len(data)
                found = list(zip(shapes, found[1], strict=True))
            self._agree((kind, found), single)

    def _agree(self, batch: tuple[str, Any], single: Sequence[tuple[str, Any]]) -> None:
        failed = [s for s in single if s[0] == "failed"]
        if batch[0] == "failed":
            assert failed, f"the batch method fails where the single method does not: {batch[1]}"
            return
        assert not failed, f"the single method fails where the batch method does not: {failed}"
        assert exactly(list(batch[1])) == exactly([s[1] for s in single]), (
            f"the batch method returns {list(batch[1])} where the single method returns {[s[1] for s in single]}"
        )

    def _messages(self, converter: Converter) -> list[bytes | None]:
        written = (_outcome(converter.from_connect, "t", schema, value) for schema, value in self.values)
        return [*self.messages, *(data for kind, data in written if kind == "given")]


def _forms(values: list[Any]) -> Iterator[Sequence[Any]]:
    """Yield the values as a list and, if they are rows with the same fields, as columns."""
    yield values
    if (fields := Fields.of(values)) is not None:
        yield fields
        same = {n: Same(c[0]) if isinstance(c, list) and len(values) == 1 else c for n, c in fields.columns.items()}
        yield Fields(same, len(values))


def _outcome(call: Callable[..., Any], *given: Any) -> tuple[str, Any]:
    try:
        return "given", call(*given)
    except DataError as e:
        return "failed", type(e).__name__
