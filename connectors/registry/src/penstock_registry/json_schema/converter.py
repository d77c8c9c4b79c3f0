"""JsonSchemaConverter: JSON with JSON Schemas in a registry."""

import json
from dataclasses import dataclass
from typing import Any, Final

from penstock import DataError, Schema
from penstock_registry.json_schema import names
from penstock_registry.json_schema.config import JsonSchemaConverterConfig
from penstock_registry.json_schema.from_schema import json_schema_text
from penstock_registry.json_schema.reader import JsonReader
from penstock_registry.json_schema.types import parse_json_schema
from penstock_registry.json_schema.validation import RecordValidator
from penstock_registry.json_schema.writer import JsonWriter
from penstock_registry.references import Reference
from penstock_registry.registry import Found
from penstock_registry.registry_converter import RegistryConverter

__all__ = ["JsonSchemaConverter"]

_DRAFT: Final = '{"$schema":"http://json-schema.org/draft-07/schema#"'


@dataclass(frozen=True, slots=True)
class _Parsed:
    """JSON Schema, as text and as JSON; `is_registered`: whether the text is from the registry."""

    text: str
    tree: Any
    references: tuple[Reference, ...]
    is_registered: bool

    @property
    def described(self) -> Any:
        """Return the schema of values other than null."""
        branches = self.tree.get("oneOf") if isinstance(self.tree, dict) else None
        if isinstance(branches, list) and len(branches) == 2:
            others = [each for each in branches if isinstance(each, dict) and each.get("type") != "null"]
            if len(others) == 1:
                return others[0]
        return self.tree if isinstance(self.tree, dict) else {}


class JsonSchemaConverter(RegistryConverter[_Parsed]):
    """JSON with JSON Schemas in a registry, in Confluent's format."""

    Config = JsonSchemaConverterConfig
    java_names = ("io.confluent.connect.json.JsonSchemaConverter",)
    kind = "JSON"

    def configure(self, config: Any, *, is_key: bool) -> None:
        super().configure(config, is_key=is_key)
        self._settings = config.settings
        self._is_strict = config.strict

    def schema_text(self, schema: Schema | None) -> str:
        if schema is None:
            raise DataError(
                "cannot write a value without a schema: it has no JSON Schema; use JsonConverter with schemas.enable=false, "
                "or let the connector or a transform add schemas"
            )
        return json_schema_text(schema, self._settings)

    def explicit_text(self, text: str) -> str | None:
        """Return the schema with its draft, without which Apicurio's registry rejects all but schemas of structs."""
        return None if text.startswith(_DRAFT) else f"{_DRAFT},{text[1:]}"

    def parse(self, text: str, found: Found | None) -> _Parsed:
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise DataError(f"cannot read a JSON Schema: {type(e).__name__}: {e}") from e
        return _Parsed(text, tree, () if found is None else found.references, found is not None)

    def record_name(self, parsed: _Parsed) -> str | None:
        title = parsed.described.get("title")
        return title if isinstance(title, str) else None

    def has_version(self, parsed: _Parsed) -> bool:
        return names.CONNECT_VERSION in parsed.described

    def new_writer(self, schema: Schema | None, parsed: _Parsed) -> JsonWriter:
        if schema is None:
            raise DataError("cannot write a value without a schema")
        compare = self._settings.validated or (parsed.is_registered and self._is_strict)
        return JsonWriter(schema, self._settings, self._validator(parsed) if compare else None)

    def new_reader(self, parsed: _Parsed, version: int | None) -> JsonReader:
        of = parse_json_schema(parsed.text, parsed.references)
        validator = self._validator(parsed) if self._settings.validated else None
        return JsonReader(of, self._settings, version, validator)

    def _validator(self, parsed: _Parsed) -> RecordValidator:
        return RecordValidator(parsed.text, parsed.references)
