"""Configuration definitions of the plugins in an image, as a verifying pod publishes them (KIP-891). Pure.

They are a JSON document, compressed with gzip and identified by the SHA-256 of the compressed bytes. The pod writes them as
one line of its log, and their digest into its termination message; the operator keeps them in a ConfigMap, under `KEY`.
Every reader verifies the digest, so that nobody else can replace them.
"""

import base64
import binascii
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from pydantic import ConfigDict, Field

from penstock.config import Password, Property
from penstock.errors import ConfigError
from penstock_model.contracts.base import Document, Part
from penstock_model.contracts.plugin_mount import PluginType

__all__ = [
    "KEY",
    "LARGEST",
    "LARGEST_TEXT",
    "ClassDefinition",
    "ConfigKey",
    "Definitions",
    "PackedDefinitions",
    "config_key",
    "config_key_info",
    "definitions_line",
    "find_line",
    "pack",
    "unpack",
]

KEY: Final = "definitions.json.gz"
"""Key in the ConfigMap's `binaryData`."""
LARGEST: Final = 700_000
"""Maximum bytes of the compressed document: 933,336 characters in a log; a ConfigMap can hold 1 MiB."""
LARGEST_TEXT: Final = 8 << 20
"""Maximum bytes of the uncompressed document."""
_LINE: Final = "penstock-definitions: "
_CUTS: Final = (None, 500, 200, 80, 0)
"""Maximum lengths of documentation, tried in this order until the document is small enough; None: uncut."""


class ConfigKey(Part):
    """Property: the fields of Kafka Connect's `ConfigKeyInfo` with their names, and the accepted values.

    Attributes:
        name, type, required, default_value, importance, documentation, group, order_in_group, width, display_name,
            dependents: as in `ConfigKeyInfo`. The default is a string as in configurations.
        valid: accepted values, in words.
        values: all accepted values; None if they are unknown or unlimited.
        any_case: whether `values` are accepted regardless of case.
        minimum, maximum: bounds of a number, or None.
    """

    model_config = ConfigDict(alias_generator=None)

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None = None
    order_in_group: int = -1
    width: str = "NONE"
    display_name: str
    dependents: tuple[str, ...] = ()
    valid: str = Field(default="", exclude_if=lambda v: not v)
    values: tuple[str, ...] | None = Field(default=None, exclude_if=lambda v: v is None)
    any_case: bool = Field(default=False, exclude_if=lambda v: not v)
    minimum: int | float | None = Field(default=None, exclude_if=lambda v: v is None)
    maximum: int | float | None = Field(default=None, exclude_if=lambda v: v is None)


class ClassDefinition(Part):
    """Configuration definition of one class in one version.

    Attributes:
        class_name: the alias of a Python plugin, or the full name of a Java class.
        type: type of the plugin.
        version: version of the class.
        java_names: Kafka Connect classes that it replaces.
        variants: variants of a Python transform, one of which follows its name after a `$`.
        open_prefixes: prefixes of additional properties that it accepts.
        paths: for a Java class, the folders or jars that contain it in this version, relative to `spec.path`.
        description: description of the plugin.
        config: its properties, without those of all connectors.
    """

    class_name: str = Field(alias="class")
    type: PluginType
    version: str
    java_names: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)
    variants: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)
    open_prefixes: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)
    paths: tuple[str, ...] = Field(default=(), exclude_if=lambda v: not v)
    description: str = Field(default="", exclude_if=lambda v: not v)
    config: tuple[ConfigKey, ...]

    @property
    def is_java(self) -> bool:
        """Return whether it is a Java class."""
        return bool(self.paths)

    def cut(self, most: int) -> "ClassDefinition":
        """Return the definition with descriptions cut to `most` characters."""
        keys = tuple(k.model_copy(update={"documentation": _cut(k.documentation, most)}) for k in self.config)
        return self.model_copy(update={"description": _cut(self.description, most), "config": keys})


class Definitions(Document):
    """Configuration definitions of the classes in an image.

    Attributes:
        documentation_cut: maximum length to which documentation and descriptions were cut; None: they are complete.
        classes: one for each class and version.
    """

    called: ClassVar = "a document of configuration definitions"

    api_version: Literal["penstock.dev/definitions/v1"] = "penstock.dev/definitions/v1"
    documentation_cut: int | None = None
    classes: tuple[ClassDefinition, ...]

    def of(self, class_name: str, type_: PluginType, version: str) -> ClassDefinition | None:
        """Return the definition of a class in a version, or None."""
        wanted = class_name, type_, version
        return next((c for c in self.classes if (c.class_name, c.type, c.version) == wanted), None)


@dataclass(frozen=True, slots=True)
class PackedDefinitions:
    """Compressed document.

    Attributes:
        content: the bytes.
        documentation_cut: as in `Definitions`.
    """

    content: bytes
    documentation_cut: int | None

    @property
    def digest(self) -> str:
        """Return the digest that identifies the content."""
        return _digest(self.content)


def config_key(of: Property) -> ConfigKey:
    """Return the definition of a Python plugin's property, with a default as in configurations."""
    return ConfigKey(
        name=of.name,
        type=of.type,
        required=of.required,
        default_value=_text(of.default),
        importance=of.importance.value,
        documentation=of.doc,
        display_name=of.name,
        valid=of.valid,
        values=of.values,
        any_case=of.any_case,
        minimum=of.minimum,
        maximum=of.maximum,
    )


def config_key_info(key: ConfigKey) -> dict[str, object]:
    """Return the JSON form of a property in Kafka Connect's REST API (`ConfigKeyInfo`)."""
    return key.model_dump(mode="json", exclude={"valid", "values", "any_case", "minimum", "maximum"})


def pack(classes: Sequence[ClassDefinition]) -> PackedDefinitions:
    """Compress definitions. If they are too large, documentation is cut until they fit.

    Raises:
        ConfigError: the definitions are too large even without documentation.
    """
    for cut in _CUTS:
        kept = classes if cut is None else [c.cut(cut) for c in classes]
        text = Definitions(documentation_cut=cut, classes=tuple(kept)).to_json().encode()
        if len(text) > LARGEST_TEXT:
            continue
        content = gzip.compress(text, mtime=0)
        if len(content) <= LARGEST:
            return PackedDefinitions(content, cut)
    raise ConfigError(
        f"cannot publish the definitions of {len(classes)} classes: they have more than {LARGEST} bytes, even compressed "
        "and without documentation; set spec.path to a folder with fewer plugins, in a PluginVersion for each"
    )


def unpack(content: bytes, digest: str) -> Definitions:
    """Read a compressed document.

    Raises:
        ConfigError: the content does not match the digest, or cannot be read.
    """
    if _digest(content) != digest:
        raise ConfigError(f"cannot read the definitions: the content does not match the digest {digest}")
    unzip = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        text = unzip.decompress(content, LARGEST_TEXT)
    except zlib.error as e:
        raise ConfigError(f"cannot read the definitions: the content is not compressed with gzip: {e}") from None
    return Definitions.from_json(text)


def definitions_line(packed: PackedDefinitions) -> str:
    """Return the log line that contains a compressed document."""
    return _LINE + base64.b64encode(packed.content).decode()


def find_line(log: str, digest: str) -> bytes | None:
    """Return the compressed document with this digest in a log, or None if missing or incomplete. Ignores other lines."""
    return next((content for content in _contents(log) if _digest(content) == digest), None)


def _contents(log: str) -> Iterator[bytes]:
    for line in log.split("\n"):
        if line.startswith(_LINE):
            try:
                yield base64.b64decode(line.removeprefix(_LINE).rstrip("\r"), validate=True)
            except (binascii.Error, ValueError):
                continue


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..." if most else ""


def _text(default: object) -> str | None:
    """Return a default in the form of Kafka's `ConfigDef.convertToString`."""
    match default:
        case None:
            return None
        case Password():
            return str(default)
        case bool():
            return "true" if default else "false"
        case list() | tuple():
            return ",".join(filter(None, map(_text, default)))
        case _:
            return str(getattr(default, "value", default))
