"""Properties of the AvroConverter."""

from penstock import Importance, prop
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.config import RegistryConfig

__all__ = ["AvroConverterConfig"]


class AvroConverterConfig(RegistryConfig):
    enhanced: bool = prop(
        "enhanced.avro.schema.support",
        False,
        doc="Write enums that were read as enums, and use full names of types for the branches of unions.",
    )
    metadata: bool = prop(
        "connect.meta.data",
        True,
        doc="Add names, versions, parameters and documentation of Connect to the Avro schema, and read them from it.",
        importance=Importance.LOW,
    )
    scrub: bool = prop(
        "scrub.invalid.names",
        False,
        doc="Replace characters that are not allowed in Avro names. Otherwise, a record with such a name fails.",
    )
    optional_keys: bool = prop(
        "allow.optional.map.keys",
        False,
        doc="Write maps with optional strings as keys as Avro maps. Otherwise, they are arrays of entries.",
        importance=Importance.LOW,
    )
    null_stays: bool = prop(
        "ignore.default.for.nullables",
        False,
        doc="Keep the null of an optional field that has a default. Otherwise, the default is written.",
        importance=Importance.LOW,
    )

    @property
    def settings(self) -> AvroSettings:
        """Return the settings of the mapping."""
        return AvroSettings(
            enhanced=self.enhanced,
            metadata=self.metadata,
            scrub=self.scrub,
            optional_keys=self.optional_keys,
            null_stays=self.null_stays,
        )
