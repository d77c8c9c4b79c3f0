"""The CustomResourceDefinitions of the three resources. `scripts/generate-crds` writes them to `crds/`.

schema      a pydantic model as a structural schema
definition  the complete definitions: names, columns, subresources
"""

from penstock_model.resources.crds.definition import GROUP, RESOURCES, VERSION, CustomResource, definition

__all__ = ["GROUP", "RESOURCES", "VERSION", "CustomResource", "definition"]
