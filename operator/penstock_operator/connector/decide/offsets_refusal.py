"""Why an action on offsets or topics that an annotation asks for is refused at once (KIP-875, KIP-558). Pure."""

from typing import Final

from penstock_model.resources.connector import Connector, State
from penstock_operator.connector.model.offsets_requests import LIST, TOKEN_LENGTH, OffsetsRequest

__all__ = ["refusal"]

_NOT_STOPPED: Final = (
    "Connectors must be in the STOPPED state before their offsets can be modified: set spec.state: Stopped, and give the "
    "annotation another value"
)
_NO_TOKEN: Final = (
    f"the value is no token: it is a word of your choice, without a blank, of at most {TOKEN_LENGTH} characters"
)


def refusal(request: OffsetsRequest, connector: Connector) -> str:
    """Why a new request is refused; empty: it is not.

    Of the connector's state only `spec.state` refuses: whatever else is in the way is waited for, since Git may bring state
    and token together.
    """
    if request.instead:
        return f"is not done in this release: {request.instead}"
    if not request.is_token:
        return _NO_TOKEN
    return "" if request.action == LIST or connector.spec.state is State.STOPPED else _NOT_STOPPED
