"""Reader of messages with one schema."""

import json
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from operator import itemgetter
from typing import Any

from penstock import DataError, Fields, Schema, Type
from penstock_registry.json_schema import names
from penstock_registry.json_schema.decoder import decoder, has_decimals
from penstock_registry.json_schema.misfit import Misfit
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.json_schema.to_schema import connect_schema
from penstock_registry.json_schema.types import JsonType
from penstock_registry.json_schema.validation import RecordValidator

__all__ = ["JsonReader"]


class JsonReader:
    """Reader of data with one schema, without the prefix of a message.

    Args:
        of: the JSON Schema.
        settings: settings of the mapping.
        version: its version in the registry.
        validator: validator for the JSON Schema; None if records are not validated.

    Attributes:
        schema: the schema in Connect.

    Raises:
        DataError: Connect cannot represent the schema.
    """

    def __init__(
        self, of: JsonType, settings: JsonSettings, version: int | None, validator: RecordValidator | None
    ) -> None:
        self.schema: Schema = connect_schema(of, settings, version)
        self._decode = decoder(self.schema, settings)
        self._number = Decimal if has_decimals(self.schema) else float
        self._validator = validator
        is_record = self.schema.type is Type.STRUCT and not names.is_union(self.schema)
        self._names = [f.name for f in self.schema.fields] if is_record else []

    def read(self, data: bytes) -> tuple[Schema | None, Any]:
        """Return the schema and the value of a message."""
        try:
            document = json.loads(data.decode(), parse_float=self._number)
        except (ValueError, RecursionError, InvalidOperation) as e:
            what = "it is nested too deeply" if isinstance(e, RecursionError) else type(e).__name__
            raise DataError(
                f"cannot read a message as JSON: its text is not JSON ({what}); the message is damaged, or its schema id "
                "belongs to another registry"
            ) from None
        if self._validator is not None:
            self._validator.check(document)
        try:
            return self.schema, self._decode(document)
        except Misfit as e:
            raise e.as_error("cannot read a message by its JSON Schema") from None

    def read_all(self, data: Sequence[bytes], start: int = 0) -> tuple[Schema | None, Sequence[Any]]:
        """Return the schema and the values of messages with this schema.

        If any message cannot be read, the whole call fails. To find it, call `read` for each message.
        """
        values = [self.read(each[start:])[1] for each in data]
        if not self._names or not values or None in values:
            return self.schema, values
        columns = {name: list(map(itemgetter(name), values)) for name in self._names}
        return self.schema, Fields(columns, len(values), rows=values)
