"""The table of docs/kafka-acls.md: what it grants, and what it says of each right that is missing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .secured import AclOperation, ResourceType, SecuredKafka

__all__ = ["ROWS", "Row", "grant"]

_PAGE: Final = Path(__file__).parents[2] / "docs" / "kafka-acls.md"
_KINDS: Final = {
    "Topic": ResourceType.TOPIC,
    "Group": ResourceType.GROUP,
    "TransactionalId": ResourceType.TRANSACTIONAL_ID,
}
_RIGHTS: Final = {
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "Create": AclOperation.CREATE,
    "Delete": AclOperation.DELETE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
}


@dataclass(frozen=True)
class Row:
    """One right: whose, for what, on what, and what is said without it."""

    who: str
    purpose: str
    resource: str
    name: str
    pattern: str
    right: str
    told: str

    def __str__(self) -> str:
        return f"{self.who}-{self.purpose}-{self.right}-{self.name}".replace(" ", "_")

    def filled(self, text: str, names: Mapping[str, str]) -> str:
        """A text of the table with the names of a case."""
        for placeholder, name in names.items():
            text = text.replace(placeholder, name)
        assert "<" not in text, text
        return text


def _rows() -> list[Row]:
    lines = [line for line in _PAGE.read_text().splitlines() if line.startswith(("| operator |", "| pods |"))]
    cells = [[re.sub(r"^`(.*)`$", r"\1", cell.strip()) for cell in line.strip("|").split("|")] for line in lines]
    return [Row(*row) for row in cells]


ROWS: Final = _rows()


def grant(kafka: SecuredKafka, user: str, rows: list[Row], names: Mapping[str, str]) -> None:
    """Give a user these rights."""
    for row in rows:
        kind: Any = _KINDS[row.resource]
        kafka.allow(user, kind, row.filled(row.name, names), _RIGHTS[row.right], prefixed=row.pattern == "Prefixed")
