"""Configuration definitions of the built-in plugins, for processes without these plugins. Pure, except for one file.

The file is generated from the plugins, in the form that PluginVersions publish.
"""

from functools import cache
from pathlib import Path
from typing import Final

from penstock_model.contracts.definitions import Definitions

__all__ = ["FILE", "built_in_definitions"]

FILE: Final = Path(__file__).with_suffix(".json")


@cache
def built_in_definitions(release: str) -> Definitions:
    """Return the definitions of the built-in plugins, which have the version of the release."""
    found = Definitions.from_json(FILE.read_bytes())
    classes = tuple(c.model_copy(update={"version": release}) for c in found.classes)
    return found.model_copy(update={"classes": classes})
