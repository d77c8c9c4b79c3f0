"""Validation of records against JSON Schemas, with the library jsonschema."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin

from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import Draft7Validator, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from penstock import DataError
from penstock_registry.references import Reference

__all__ = ["RecordValidator"]


class RecordValidator:
    """Validator of records against a JSON Schema. No schema is fetched from the network.

    Args:
        text: the schema, of draft 7 unless it names another draft.
        references: the schemas that it refers to by their names.
    """

    def __init__(self, text: str, references: Sequence[Reference]) -> None:
        try:
            schema, trees = json.loads(text), [json.loads(each.text) for each in references]
        except (ValueError, RecursionError) as e:
            raise DataError(f"cannot read a JSON Schema: {type(e).__name__}: {e}") from e
        base = schema.get("$id", "") if isinstance(schema, dict) else ""
        others: Registry[Any] = Registry().with_resources(
            (urljoin(base, each.name), Resource.from_contents(tree, default_specification=DRAFT7))
            for each, tree in zip(references, trees, strict=True)
        )
        self._validator: Validator = validator_for(schema, default=Draft7Validator)(schema, registry=others)

    def check(self, document: Any) -> None:
        """Validate a record, as JSON.

        Raises:
            DataError: the record does not fit.
        """
        try:
            error = best_match(self._validator.iter_errors(document))
        except Unresolvable as e:
            raise DataError(
                f"cannot validate a record against its JSON Schema: the reference {e.ref} cannot be resolved; register the "
                "schema that it refers to, with that name as a reference"
            ) from None
        except Exception as e:  # noqa: BLE001 (a pattern or keyword that the library cannot use; it can quote the record)
            raise DataError(
                f"cannot validate a record against its JSON Schema: {type(e).__name__}; correct the schema (a pattern, for "
                r"example, has Python's syntax, without \p{L}), or set json.fail.invalid.schema or "
                "latest.compatibility.strict to false"
            ) from None
        if error is not None:
            raise DataError(
                f"a record does not fit its JSON Schema: at {_path(error)}: the value violates '{error.validator}'; correct "
                "the record where it is written, or the schema"
            )


def _path(error: ValidationError) -> str:
    """Return the path of the error, without the keys of maps, which are data."""
    named = set(error.absolute_schema_path)
    parts = (
        f"[{part}]" if isinstance(part, int) else f".{part}" if part in named else "{}" for part in error.absolute_path
    )
    return f"${''.join(parts)}"
