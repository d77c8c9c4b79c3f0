"""Properties of the ProtobufConverter."""

from penstock import Importance, prop
from penstock_registry.config import RegistryConfig
from penstock_registry.protobuf.settings import ProtobufSettings

__all__ = ["ProtobufConverterConfig"]


class ProtobufConverterConfig(RegistryConfig):
    enhanced: bool = prop(
        "enhanced.protobuf.schema.support",
        False,
        doc="Include the package of a message in the name of its schema when reading.",
    )
    scrub: bool = prop(
        "scrub.invalid.names",
        False,
        doc="Replace characters that are not allowed in Protobuf names. Otherwise, a record with such a name fails.",
    )
    int_enums: bool = prop("int.for.enums", False, doc="Read enums as int32 instead of string.")
    optional_fields: bool = prop(
        "optional.for.nullables",
        False,
        doc="Write nullable fields as `optional` fields, and read only these as nullable. Otherwise, the null of a number, "
        "string or boolean is read as 0, an empty string or false.",
    )
    proto2_optional: bool = prop(
        "optional.for.proto2",
        True,
        doc="Read unset fields of proto2 as null. Otherwise, they have their default.",
        importance=Importance.LOW,
    )
    wrapper_fields: bool = prop(
        "wrapper.for.nullables",
        False,
        doc="Write nullable fields as messages such as `google.protobuf.StringValue`, and read these as nullable fields.",
    )
    raw_primitives: bool = prop(
        "wrapper.for.raw.primitives",
        True,
        doc="Read a wrapper message, such as `google.protobuf.StringValue`, as its value. Otherwise, it is a struct with "
        "the field `value`.",
    )
    null_structs: bool = prop(
        "generate.struct.for.nulls",
        False,
        doc="Read an unset message as a struct of defaults. Otherwise, it is null.",
    )
    indexed_unions: bool = prop(
        "generate.index.for.unions",
        True,
        doc="Append the index of a oneof to the name of its field.",
        importance=Importance.LOW,
    )
    flat_unions: bool = prop(
        "flatten.unions",
        False,
        doc="Read the fields of a oneof as fields of its message. Otherwise, they are fields of a struct.",
        importance=Importance.LOW,
    )
    null_stays: bool = prop(
        "ignore.default.for.nullables",
        False,
        doc="Keep the null of an optional field that has a default. Otherwise, the default is written.",
        importance=Importance.LOW,
    )

    @property
    def settings(self) -> ProtobufSettings:
        """Return the settings of the mapping."""
        return ProtobufSettings(
            full_names=self.enhanced,
            scrub=self.scrub,
            int_enums=self.int_enums,
            optional_fields=self.optional_fields,
            proto2_optional=self.proto2_optional,
            wrapper_fields=self.wrapper_fields,
            raw_primitives=self.raw_primitives,
            null_structs=self.null_structs,
            indexed_unions=self.indexed_unions,
            flat_unions=self.flat_unions,
            null_stays=self.null_stays,
        )
