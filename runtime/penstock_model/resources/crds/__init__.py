"""The CustomResourceDefinitions of the three resources, made from their models; `scripts/generate-crds` writes `crds/`.

schema         a pydantic model as a structural schema
definition     the whole definitions: names, columns, subresources
compatibility  whether resources that fit one definition fit a newer one too
"""

from penstock_model.resources.crds.compatibility import incompatibilities
from penstock_model.resources.crds.definition import GROUP, RESOURCES, VERSION, CustomResource, definition

__all__ = ["GROUP", "RESOURCES", "VERSION", "CustomResource", "definition", "incompatibilities"]
