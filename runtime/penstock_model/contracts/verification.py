"""Request to a pod that verifies a PluginVersion (KIP-891): the required contents of the image. Pure.

The answer is the container's termination message: exit code 0 if the image has these contents, else `CONFIG_INVALID`.
For Java plugins it contains the classes that were found, compressed. For a valid image it contains the digest of the
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
"""Maximum characters for the classes in a termination message, of which Kubernetes keeps 4,096."""
_LONGEST: Final = 1 << 20
"""Maximum bytes of the classes as JSON."""


class VerificationRequest(Document):
    """Request to a verifying pod.

    Attributes:
        mount: the image, with its declared contents. For Java plugins, `folder` contains all plugins.
        seconds: time limit for the import of its classes.
    """

    called: ClassVar = "a verification"

    api_version: Literal["penstock.dev/verification/v1"] = "penstock.dev/verification/v1"
    mount: PluginMount
    seconds: float


class FoundClass(Part):
    """Java class that a verifying pod has found.

    Attributes:
        class_name: its full name.
        type: type of the class.
        version: result of its `version()`.
        paths: the folders with jars, or jars, that contain it, relative to the folder of all plugins.
    """

    class_name: str = Field(alias="class")
    type: PluginType
    version: str
    paths: tuple[str, ...]


_CLASSES: Final = TypeAdapter(tuple[FoundClass, ...])


def classes_text(classes: Sequence[FoundClass]) -> str:
    """Encode the classes as text. Several hundred fit into a termination message."""
    document = [c.model_dump(by_alias=True) for c in classes]
    return base64.b64encode(zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)).decode()


def read_classes(text: str) -> tuple[FoundClass, ...]:
    """Decode the text of `classes_text`; return no classes if it cannot be read."""
    with suppress(ValueError, zlib.error):
        return _CLASSES.validate_json(zlib.decompressobj().decompress(base64.b64decode(text), _LONGEST))
    return ()
