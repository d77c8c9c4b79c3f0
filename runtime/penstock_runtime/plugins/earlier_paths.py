"""Python paths that the built-in plugins had in version 0.1.0, and the ones that they have now.

Plans in ConfigMaps and manifests name classes by their paths, and outlive the release that wrote them.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["current_path"]

_PACKAGE: Final = "penstock_plugins."
_MOVED: Final[Mapping[str, str]] = {
    "cast": "transforms.cast",
    "converted_headers": "converters.headers",
    "datagen": "connectors.datagen.source",
    "drop_headers": "transforms.drop_headers",
    "extract_field": "transforms.extract_field",
    "file_sink": "connectors.file.sink",
    "file_source": "connectors.file.source",
    "filter": "transforms.filter",
    "flatten": "transforms.flatten",
    "header_converter": "converters.simple_header",
    "header_from": "transforms.header_from",
    "hoist_field": "transforms.hoist_field",
    "insert_field": "transforms.insert_field",
    "insert_header": "transforms.insert_header",
    "json_converter": "converters.json.converter",
    "mask_field": "transforms.mask_field",
    "number_converters": "converters.primitive",
    "regex_router": "transforms.regex_router",
    "replace_field": "transforms.replace_field",
    "set_schema_metadata": "transforms.set_schema_metadata",
    "spark_sink": "connectors.spark.sink",
    "spark_source": "connectors.spark.source",
    "text_converters": "converters.text",
    "timestamp_converter": "transforms.timestamp_converter",
    "timestamp_router": "transforms.timestamp_router",
    "value_to_key": "transforms.value_to_key",
}


def current_path(path: str) -> str:
    """The path that a class has now: `module:Class` or `module.Class`, in the form that was given.

    Any other text, an alias or a Java class for instance, comes back as it is.
    """
    if not path.startswith(_PACKAGE):
        return path
    separator = ":" if ":" in path else "."
    module, _, name = path.removeprefix(_PACKAGE).rpartition(separator)
    return f"{_PACKAGE}{_MOVED[module]}{separator}{name}" if module in _MOVED else path
