"""ApicurioAvroConverter: Avro with schemas in Apicurio's registry, in Apicurio's format."""

from penstock_registry.apicurio.client import ApicurioRegistry
from penstock_registry.apicurio.config import ApicurioAvroConfig
from penstock_registry.avro.converter import AvroConverter

__all__ = ["ApicurioAvroConverter"]


class ApicurioAvroConverter(AvroConverter):
    """Avro with schemas in Apicurio's registry, in Apicurio's format."""

    Config = ApicurioAvroConfig
    java_names = ("io.apicurio.registry.utils.converter.AvroConverter",)

    def open_registry(self, config: ApicurioAvroConfig) -> ApicurioRegistry:
        return ApicurioRegistry(config, self.kind)
