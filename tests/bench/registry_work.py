"""Avro with schemas in a registry: at a sink from a topic to a file, and at a source from a file to a topic.

Both sides have the same configuration, of Apicurio's AvroConverter in Confluent's format. On Kafka Connect that is
Apicurio's converter, whose mapping is Confluent's AvroData; on Penstock it is that of penstock-registry. The registry is a
process of its own, whose CPU does not count. The work is that of the measures `transforms` and `source-transforms`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from connectors.registry.tests.servers import Registry
from tests.bench.results import Measure, Times
from tests.bench.sides import Connect, Side
from tests.bench.transform_cases import Case, Form, payload
from tests.bench.transform_source import source_points
from tests.bench.transform_work import Point, TransformFigures
from tests.integration.java.plugins import apicurio_converter

from penstock.schema import FLOAT64, INT64, STRING, struct
from penstock.testing import parsed
from penstock_registry.apicurio.converter import ApicurioAvroConverter

__all__ = ["at_sink", "at_source", "registry", "registry_rows", "registry_sides"]

_REGISTRY: Final = "apicurio.registry."
_CONVERTER: Final = "io.apicurio.registry.utils.converter.AvroConverter"
_RECORD: Final = struct(
    {"id": INT64, "name": STRING, "amount": FLOAT64, "at": INT64, "note": STRING}, name="bench.Record"
)


@dataclass(frozen=True)
class AvroForm(Form):
    """Records in Avro, with their schema in the registry at `url`."""

    url: str

    @property
    def converters(self) -> dict[str, str]:
        """The converters' properties."""
        return {
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": _CONVERTER,
            **{f"value.converter.{name}": text for name, text in self._properties.items()},
        }

    def values(self, start: int, end: int) -> list[bytes]:
        """The values of these records in Kafka."""
        converter = ApicurioAvroConverter()
        converter.configure(parsed(ApicurioAvroConverter, self._properties), is_key=False)
        made = converter.from_connect_batch("bench", _RECORD, [payload(n, self) for n in range(start, end)])
        converter.close()
        return [data for data in made if data is not None]

    @property
    def _properties(self) -> dict[str, str]:
        return {
            f"{_REGISTRY}url": self.url,
            f"{_REGISTRY}auto-register": "true",
            f"{_REGISTRY}headers.enabled": "false",
            f"{_REGISTRY}as-confluent": "true",
            f"{_REGISTRY}artifact.artifact-id": f"bench-{self.content}",  # the same ids in every run
        }


@contextmanager
def registry() -> Iterator[str]:
    """A registry that runs; the URL of its API."""
    server = Registry()
    try:
        server.start()
        yield server.own_url
    finally:
        server.stop()


def at_sink(url: str) -> Point:
    """Records of five fields, without transforms."""
    return Point(Case("sink", {}), AvroForm("flat", schema=True, url=url))


def at_source(url: str) -> Point:
    """Lines, which HoistField and two InsertField make records of three fields."""
    (base, *_) = source_points()
    return Point(replace(base.case, name="source"), AvroForm("lines", schema=True, url=url))


def registry_sides(sides: Sequence[Side], folder: Path) -> list[Side]:
    """Both sides, Kafka Connect with Apicurio's converter."""
    plugins = folder / "plugins"
    plugin = plugins / "apicurio"
    plugin.mkdir(parents=True)
    for jar in apicurio_converter().glob("*.jar"):
        (plugin / jar.name).symlink_to(jar)
    with ZipFile(plugin / "services.jar", "w") as services:  # else Kafka Connect searches each jar for plugins
        services.writestr("META-INF/services/org.apache.kafka.connect.storage.Converter", f"{_CONVERTER}\n")
    return [replace(side, plugins=plugins) if isinstance(side, Connect) else side for side in sides]


def registry_rows(name: str, ours: Sequence[TransformFigures], peer: Sequence[TransformFigures]) -> list[Measure]:
    """Speed, and records for each second of CPU: at a source three times the peer's, at a sink one and a half times."""
    goal = Times(3 if name == "source" else 1.5)
    return [
        Measure(f"Avro at a {name}: speed", "records/s", [f.rate for f in ours], [f.rate for f in peer]),
        Measure(
            f"Avro at a {name}: records for each second of CPU",
            "records",
            [f.records / f.cpu for f in ours],
            [f.records / f.cpu for f in peer],
            goal,
        ),
    ]
