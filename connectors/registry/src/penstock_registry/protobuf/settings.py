"""Settings of the mapping between Connect's schemas and Protobuf's."""

from dataclasses import dataclass

__all__ = ["ProtobufSettings"]


@dataclass(frozen=True, slots=True)
class ProtobufSettings:
    """Settings of the mapping.

    Attributes:
        full_names: whether the names of schemas include the package when reading.
        scrub: whether invalid names are made valid.
        int_enums: whether enums are read as numbers.
        optional_fields: whether nullable fields are `optional` fields, and only those are nullable.
        proto2_optional: whether fields of proto2 that are not set are null.
        wrapper_fields: whether nullable fields are wrapper messages such as google.protobuf.StringValue.
        raw_primitives: whether a message that is a wrapper is read as its value.
        null_structs: whether messages that are not set are read as structs of defaults.
        indexed_unions: whether the index of a oneof is appended to its name.
        flat_unions: whether the fields of oneofs are read as fields of the message.
        null_stays: whether a null of an optional field stays null even if there is a default.
    """

    full_names: bool = False
    scrub: bool = False
    int_enums: bool = False
    optional_fields: bool = False
    proto2_optional: bool = True
    wrapper_fields: bool = False
    raw_primitives: bool = True
    null_structs: bool = False
    indexed_unions: bool = True
    flat_unions: bool = False
    null_stays: bool = False
