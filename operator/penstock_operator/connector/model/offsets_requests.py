"""Actions on offsets and topics that annotations ask for (KIP-875, KIP-558). Pure.

The value of `list-offsets`, `reset-offsets` and `reset-topics` of `penstock.dev/` is a token of the user's choice; that of
`penstock.dev/alter-offsets` a token, white space and KIP-875's JSON, so that no write can pair a token with other content.
The annotation stays where it is, since Git may hold it; the status has what was asked for, once per token
(`offsetsActions`). An action that is refused has used its token up, so that nothing is done later that was asked for long
ago.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_model.contracts.job import Action
from penstock_operator.connector.model.persisted_state import OffsetsAction
from penstock_operator.names import digest

__all__ = [
    "ALTER",
    "LIST",
    "OFFSETS_ACTIONS",
    "RESET",
    "RESET_TOPICS",
    "TOKEN_LENGTH",
    "OffsetsRequest",
    "asks_for_list",
    "kept_actions",
    "offsets_requests",
]

LIST: Final = "list"
RESET: Final = "reset"
ALTER: Final = "alter"
RESET_TOPICS: Final = "reset-topics"
OFFSETS_ACTIONS: Final = frozenset((Action.OFFSETS, Action.LIST_OFFSETS))
"""What the pods of these requests do."""
_PREFIX: Final = "penstock.dev/"
_ANNOTATIONS: Final = ("list-offsets", "reset-offsets", "alter-offsets", RESET_TOPICS)
"""In the order in which those are done that are asked for at once: positions that are set stay after a reset."""
_ACTIONS_KEPT: Final = 10
TOKEN_LENGTH: Final = 100
"""The most characters of a token."""


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """What an annotation asks for.

    Attributes:
        action: `reset`, `list`, `alter` or `reset-topics`.
        token: by which it is remembered: the beginning of the value.
        is_token: whether what ought to be a token is one.
        document: alter: the JSON after the token.
        content: alter: a hash of that; of the whole value where there is no token.
    """

    action: str
    token: str
    is_token: bool = True
    document: str = ""
    content: str = ""

    def asks_for(self, action: OffsetsAction) -> bool:
        """Whether that action is what is asked for here."""
        return self.has_token_of(action) and self.content == action.content

    def has_token_of(self, action: OffsetsAction) -> bool:
        """Whether that action has this token; that of another content may have it."""
        return (self.action, self.token) == (action.action, action.token)


def offsets_requests(annotations: Mapping[str, str]) -> tuple[OffsetsRequest, ...]:
    """What annotations ask for, handled or not."""
    return tuple(_requests(annotations))


def _requests(annotations: Mapping[str, str]) -> Iterator[OffsetsRequest]:
    for name in _ANNOTATIONS:
        value = annotations.get(f"{_PREFIX}{name}", "").strip()
        if value and name == "alter-offsets":
            yield _alteration(value)
        elif value:
            is_token = len(value) <= TOKEN_LENGTH and len(value.split()) == 1
            yield OffsetsRequest(name.removesuffix("-offsets"), value[:TOKEN_LENGTH], is_token)


def _alteration(value: str) -> OffsetsRequest:
    """What is asked for by a token and JSON. JSON alone has no token, and is remembered by all of it."""
    token, *rest = value.split(maxsplit=1)
    document = rest[0] if rest else ""
    if token[0] in "{[" or len(token) > TOKEN_LENGTH:
        return OffsetsRequest(ALTER, token[:TOKEN_LENGTH], is_token=False, content=digest(value))
    return OffsetsRequest(ALTER, token, document=document, content=digest(document))


def asks_for_list(annotations: Mapping[str, str], actions: Sequence[OffsetsAction]) -> bool:
    """Whether a list is asked for, or under way."""
    lists = [r for r in offsets_requests(annotations) if r.action == LIST]
    return any(a.action == LIST and a.is_pending for a in actions) or any(
        not any(r.asks_for(a) for a in actions) for r in lists
    )


def kept_actions(actions: Sequence[OffsetsAction], requests: Sequence[OffsetsRequest]) -> tuple[OffsetsAction, ...]:
    """The last actions, for the status.

    However old, those are kept that are under way, and those whose token still stands in an annotation, which would ask for
    them anew.
    """
    others = [a for a in actions if not a.is_pending and not any(r.asks_for(a) for r in requests)]
    gone = others[: max(0, len(actions) - _ACTIONS_KEPT)]
    return tuple(a for a in actions if a not in gone)
