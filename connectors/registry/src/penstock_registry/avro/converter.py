"""AvroConverter: Avro with schemas in a registry."""

from typing import Any, ClassVar

from penstock import Config as PluginConfig
from penstock import Schema
from penstock_registry.avro import names
from penstock_registry.avro.config import AvroConverterConfig
from penstock_registry.avro.from_schema import ANYTHING_JSON, avro_json
from penstock_registry.avro.reader import AvroReader
from penstock_registry.avro.types import AvroType, parse_avro
from penstock_registry.avro.writer import AvroWriter
from penstock_registry.registry import Found
from penstock_registry.registry_converter import RegistryConverter

__all__ = ["AvroConverter"]


class AvroConverter(RegistryConverter[AvroType]):
    """Avro with schemas in a registry, in Confluent's format."""

    Config: ClassVar[type[PluginConfig]] = AvroConverterConfig
    java_names = ("io.confluent.connect.avro.AvroConverter",)
    kind = "AVRO"

    def configure(self, config: Any, *, is_key: bool) -> None:
        super().configure(config, is_key=is_key)
        self._settings = config.settings

    def schema_text(self, schema: Schema | None) -> str:
        return ANYTHING_JSON if schema is None else avro_json(schema, self._settings)

    def parse(self, text: str, found: Found | None) -> AvroType:
        return parse_avro(text, () if found is None else tuple(each.text for each in found.references))

    def record_name(self, parsed: AvroType) -> str | None:
        record = parsed.optional_branch or parsed
        return record.name if record.kind == "record" else None

    def has_version(self, parsed: AvroType) -> bool:
        return names.CONNECT_VERSION in parsed.properties

    def new_writer(self, schema: Schema | None, parsed: AvroType) -> AvroWriter:
        return AvroWriter(schema, parsed, self._settings)

    def new_reader(self, parsed: AvroType, version: int | None) -> AvroReader:
        return AvroReader(parsed, self._settings, version)
