"""Actions on offsets and topics that annotations request (KIP-875, KIP-558). Pure.

The annotations `penstock.dev/list-offsets`, `penstock.dev/reset-offsets` and `penstock.dev/reset-topics` contain a token
chosen by the user. `penstock.dev/alter-offsets` contains a token, whitespace and the JSON of KIP-875 in one value, so that
token and JSON are always written together.

The annotation is not removed, since Git may contain it; the status has the requested actions, once per token
(`offsetsActions`). A refused action has used its token, so that an old request is not carried out later.
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
"""Actions of the job pods for these requests."""
_PREFIX: Final = "penstock.dev/"
_ANNOTATIONS: Final = ("list-offsets", "reset-offsets", "alter-offsets", RESET_TOPICS)
"""Order in which simultaneous requests are carried out: a reset does not discard altered positions."""
_ACTIONS_KEPT: Final = 10
TOKEN_LENGTH: Final = 100
"""Maximum characters of a token."""


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """Request in an annotation.

    Attributes:
        action: `reset`, `list`, `alter` or `reset-topics`.
        token: beginning of the value, which identifies the request.
        is_token: whether the value has a valid token.
        document: for alter: the JSON after the token.
        content: for alter: hash of the JSON; without a valid token, of the whole value.
    """

    action: str
    token: str
    is_token: bool = True
    document: str = ""
    content: str = ""

    def asks_for(self, action: OffsetsAction) -> bool:
        """Return whether that action belongs to this request."""
        return self.has_token_of(action) and self.content == action.content

    def has_token_of(self, action: OffsetsAction) -> bool:
        """Return whether that action has this token, perhaps with other content."""
        return (self.action, self.token) == (action.action, action.token)


def offsets_requests(annotations: Mapping[str, str]) -> tuple[OffsetsRequest, ...]:
    """Return the requests in annotations, handled or not."""
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
    """Return the request in a value of token and JSON. Without a valid token, the whole value identifies it."""
    token, *rest = value.split(maxsplit=1)
    document = rest[0] if rest else ""
    if token[0] in "{[" or len(token) > TOKEN_LENGTH:
        return OffsetsRequest(ALTER, token[:TOKEN_LENGTH], is_token=False, content=digest(value))
    return OffsetsRequest(ALTER, token, document=document, content=digest(document))


def asks_for_list(annotations: Mapping[str, str], actions: Sequence[OffsetsAction]) -> bool:
    """Return whether a list is requested or pending."""
    lists = [r for r in offsets_requests(annotations) if r.action == LIST]
    return any(a.action == LIST and a.is_pending for a in actions) or any(
        not any(r.asks_for(a) for a in actions) for r in lists
    )


def kept_actions(actions: Sequence[OffsetsAction], requests: Sequence[OffsetsRequest]) -> tuple[OffsetsAction, ...]:
    """Return the latest actions, for the status.

    Regardless of age, pending actions are kept, and those whose token is still in an annotation, which would otherwise
    request them again.
    """
    others = [a for a in actions if not a.is_pending and not any(r.asks_for(a) for r in requests)]
    gone = others[: max(0, len(actions) - _ACTIONS_KEPT)]
    return tuple(a for a in actions if a not in gone)
