"""Settings of the mapping between Connect's schemas and Avro's."""

from dataclasses import dataclass

__all__ = ["AvroSettings"]


@dataclass(frozen=True, slots=True)
class AvroSettings:
    """Settings of the mapping.

    Attributes:
        enhanced: whether enums are kept, and branches of unions have full names.
        metadata: whether Connect's names, versions and so on are written to Avro schemas, and read from them.
        scrub: whether invalid names are made valid.
        optional_keys: whether maps with optional strings as keys are maps in Avro.
        null_stays: whether a null of an optional field stays null even if there is a default.
    """

    enhanced: bool = False
    metadata: bool = True
    scrub: bool = False
    optional_keys: bool = False
    null_stays: bool = False
