"""Python classes and bounds of Connect's values."""

from collections.abc import Mapping
from typing import Final

from penstock import Float32, Float64, Int8, Int16, Int32, Int64, Schema, Type

__all__ = ["BOUNDS", "CLASSES", "described"]

BOUNDS: Final = {
    Type.INT8: (-(2**7), 2**7 - 1),
    Type.INT16: (-(2**15), 2**15 - 1),
    Type.INT32: (-(2**31), 2**31 - 1),
    Type.INT64: (-(2**63), 2**63 - 1),
}
"""Bounds of the integers of each type."""

CLASSES: Final[Mapping[Type, tuple[type, ...]]] = {
    Type.INT8: (int, Int8),
    Type.INT16: (int, Int16),
    Type.INT32: (int, Int32),
    Type.INT64: (int, Int64),
    Type.FLOAT32: (float, Float32),
    Type.FLOAT64: (float, Float64),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes,),
    Type.ARRAY: (list,),
    Type.MAP: (dict,),
    Type.STRUCT: (dict,),
}
"""Python classes of the values of each type."""


def described(schema: Schema) -> str:
    """Return the type and the name of a schema, for messages."""
    return f"{schema.type} ({schema.name})" if schema.name else str(schema.type)
