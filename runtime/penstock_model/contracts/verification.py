"""The request to a pod that verifies a PluginVersion (KIP-891): what the image must hold. Pure.

The answer is the container's termination message: exit code 0 where the image holds it, `CONFIG_INVALID` where it does not.
Of Java plugins it has the classes that were found, compressed. Of an image that holds what it must, it has the digest of the
configuration definitions of the classes, which are in the log (`contracts/definitions`).
"""

import base64
import json
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, Final, Literal

from pydantic import Field, TypeAdapter

from penstock_model.contracts.base import Document, Part
from penstock_model.contracts.plugin_mount import PluginMount, PluginType

__all__ = ["LONGEST_CLASSES", "FoundClass", "VerificationRequest", "classes_text", "read_classes"]

LONGEST_CLASSES: Final = 3_600
"""Characters of the classes in a termination message, of which Kubernetes keeps 4,096."""
_LONGEST: Final = 1 << 20
"""Bytes of classes in JSON."""


class VerificationRequest(Document):
    """A request to a verifying pod.

    Attributes:
        mount: the image, with all that it is declared to hold. Of a Java plugin the folder of all plugins.
        seconds: in which its classes must be imported.
    """

    called: ClassVar = "a verification"

    api_version: Literal["penstock.dev/verification/v1"] = "penstock.dev/verification/v1"
    mount: PluginMount
    seconds: float


class FoundClass(Part):
    """A Java class that a verifying pod has found.

    Attributes:
        class_name: its full name.
        type: what it is.
        version: as its `version()` says.
        paths: where it is, each a folder with jars or a jar, relative to the folder of all plugins.
    """

    class_name: str = Field(alias="class")
    type: PluginType
    version: str
    paths: tuple[str, ...]


_CLASSES: Final = TypeAdapter(tuple[FoundClass, ...])


def classes_text(classes: Sequence[FoundClass]) -> str:
    """The classes as a text that fits into a termination message for some hundred of them."""
    document = [c.model_dump(by_alias=True) for c in classes]
    return base64.b64encode(zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)).decode()


def read_classes(text: str) -> tuple[FoundClass, ...]:
    """The classes of such a text; none where it cannot be read."""
    with suppress(ValueError, zlib.error):
        return _CLASSES.validate_json(zlib.decompressobj().decompress(base64.b64decode(text), _LONGEST))
    return ()
