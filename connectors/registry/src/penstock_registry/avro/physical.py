"""Schemas for fastavro, with the encoding of the original and without ambiguity.

Logical types are omitted, since Connect's differ from Python's. In a union of several types, which can have equal values in
Python (int and long, string and enum), each branch is a record with one field, which Avro encodes like the field itself.
Values that are read then name their branch.
"""

from typing import Any

from fastavro import parse_schema

from penstock import DataError
from penstock_registry.avro.types import AvroType

__all__ = ["branch_field", "branch_name", "physical_schema"]


def branch_name(union: AvroType, index: int) -> str:
    """Return the name of the record that represents a branch."""
    return f"penstock.Branch{union.number}_{index}"


def branch_field(index: int) -> str:
    """Return the name of the only field of the record that represents a branch."""
    return f"b{index}"


def physical_schema(of: AvroType) -> Any:
    """Return the parsed schema for fastavro.

    Raises:
        DataError: the schema is not valid.
    """
    try:
        return parse_schema(_physical(of, set()))
    except (ValueError, KeyError, TypeError) as e:
        raise DataError(f"cannot use an Avro schema: {type(e).__name__}: {e}") from e
    except Exception as e:
        if type(e).__module__.startswith("fastavro"):  # its errors share no base class
            raise DataError(f"cannot use an Avro schema: {e}") from e
        raise


def _physical(of: AvroType, defined: set[str]) -> Any:
    match of.kind:
        case "record" | "enum" | "fixed" if of.name is not None:
            if of.name in defined:
                return of.name
            defined.add(of.name)
            return {"type": of.kind, "name": of.name, **_content(of, defined)}
        case "array":
            return {"type": "array", "items": _physical(of.element, defined)}
        case "map":
            return {"type": "map", "values": _physical(of.element, defined)}
        case "union" if of.optional_branch is not None:
            return [_physical(branch, defined) for branch in of.branches]
        case "union":
            return [_branch(of, index, defined) for index in range(len(of.branches))]
        case _:
            return of.kind


def _content(of: AvroType, defined: set[str]) -> dict[str, Any]:
    match of.kind:
        case "enum":
            return {"symbols": list(of.symbols)}
        case "fixed":
            return {"size": of.size}
        case _:
            return {"fields": [{"name": f.name, "type": _physical(f.type, defined)} for f in of.fields]}


def _branch(union: AvroType, index: int, defined: set[str]) -> Any:
    branch = union.branches[index]
    if branch.kind == "null":
        return "null"
    fields = [{"name": branch_field(index), "type": _physical(branch, defined)}]
    return {"type": "record", "name": branch_name(union, index), "fields": fields}
