"""Records as lines: the Java text of each value, in UTF-8."""

from collections.abc import Sequence

from penstock import RecordBatch
from penstock.batch import in_groups
from penstock_plugins.connect.text import java_texts

__all__ = ["lines_of"]


def lines_of(batches: Sequence[RecordBatch]) -> bytes:
    """Return one line for each record, with a newline after each; empty without records."""
    lines = [line for batch in batches for line in _texts(batch)]
    if not lines:
        return b""
    lines.append("")
    # Lone surrogates become "?", as with Java's encoder.
    return "\n".join(lines).encode("utf-8", "replace")


def _texts(batch: RecordBatch) -> list[str]:
    values = batch.value if batch.fields is None else batch.fields
    if values is None:
        return ["null"] * batch.length
    if not isinstance(batch.value_schema, list):
        return java_texts(batch.value_schema, values)
    return in_groups(batch.value_schema, lambda schema, taken: java_texts(schema, taken(values)))
