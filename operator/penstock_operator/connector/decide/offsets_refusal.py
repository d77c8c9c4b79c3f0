"""Immediate refusal of annotations that request an action on offsets or topics (KIP-875, KIP-558). Pure."""

from collections.abc import Sequence
from typing import Final

from penstock_model.resources.connector import Connector, State
from penstock_operator.connector.model.offsets_requests import ALTER, LIST, RESET_TOPICS, TOKEN_LENGTH, OffsetsRequest
from penstock_operator.connector.model.persisted_state import OffsetsAction

__all__ = ["refusal"]

_NOT_STOPPED: Final = (
    "Connectors must be in the STOPPED state before their offsets can be modified: set spec.state: Stopped, and give the "
    "annotation another value"
)
_NO_DOCUMENT: Final = (
    "the value has a token but no JSON: write the token, a space, and "
    '{"offsets": [{"partition": {...}, "offset": {...}}]}'
)
_NO_TOKEN_BEFORE: Final = (
    f"the value does not begin with a token, a word of your choice of at most {TOKEN_LENGTH} characters: write it, a "
    "space, and the JSON"
)
_OTHER_CONTENT: Final = "this token was used with other JSON: use a new token"
_NO_TOKEN: Final = (
    f"the value is not a token: a token is a word of your choice, without spaces, of at most {TOKEN_LENGTH} characters"
)


def refusal(
    request: OffsetsRequest, connector: Connector, actions: Sequence[OffsetsAction], *, of_topics: str = ""
) -> str:
    """Return why a new request is refused; empty: it is not.

    Args:
        request: request that none of the actions belongs to.
        connector: the connector with the annotation.
        actions: earlier actions.
        of_topics: why active topics cannot be reset, in Kafka Connect's words; empty: they can.

        Of the connector's state only `spec.state` leads to a refusal. The action waits for all other obstacles, since one
        sync from Git may change state and token.
    """
    if not request.is_token:
        return _NO_TOKEN_BEFORE if request.action == ALTER else _NO_TOKEN
    if request.action == ALTER and not request.document:
        return _NO_DOCUMENT
    if any(request.has_token_of(a) for a in actions):
        return _OTHER_CONTENT
    if request.action == RESET_TOPICS:
        return of_topics
    return "" if request.action == LIST or connector.spec.state is State.STOPPED else _NOT_STOPPED
