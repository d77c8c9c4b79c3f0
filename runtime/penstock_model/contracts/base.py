"""Base classes of the contracts. A reader ignores unknown fields, since a newer release may have written them. Pure."""

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError, Problem

__all__ = ["Document", "Part"]


class Part(BaseModel):
    """Part of a contract. JSON names are in camelCase."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Document(Part):
    """Document that one process writes for another. It contains its version."""

    called: ClassVar[str]
    """Name in messages, with an article."""

    def to_json(self) -> str:
        """Return the JSON form."""
        return self.model_dump_json(by_alias=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the JSON form.

        Raises:
            ConfigError: the JSON is not a document of this version. The message names all invalid fields but no values.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as e:
            raise ConfigError(
                Problem(
                    ".".join(map(str, error["loc"])), f"cannot be read as {cls.called} of this version: {error['msg']}"
                )
                for error in e.errors(include_url=False, include_input=False)
            ) from None
