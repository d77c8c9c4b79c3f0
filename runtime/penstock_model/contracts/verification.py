"""The request to a pod that verifies a PluginVersion (KIP-891): what the image must hold. Pure.

The answer is the container's termination message: exit code 0 where the image holds it, `CONFIG_INVALID` where it does not.
"""

from typing import ClassVar, Literal

from penstock_model.contracts.base import Document
from penstock_model.contracts.plugin_mount import PluginMount

__all__ = ["VerificationRequest"]


class VerificationRequest(Document):
    """A request to a verifying pod.

    Attributes:
        mount: the image, with all that it is declared to hold.
        seconds: in which its classes must be imported.
    """

    called: ClassVar = "a verification"

    api_version: Literal["penstock.dev/verification/v1"] = "penstock.dev/verification/v1"
    mount: PluginMount
    seconds: float
