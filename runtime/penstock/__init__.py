"""Penstock's plugin API: the base classes, data and errors for connectors, transforms, predicates and converters.

Public are the names in `__all__` here and in each submodule without a leading underscore. docs/plugins.md lists all of them.
`API_VERSION` versions them.
"""

from penstock.batch import RecordBatch
from penstock.config import Config, Importance, Int, Password, prop
from penstock.connector import Connector
from penstock.context import PluginContext
from penstock.errors import (
    ConfigError,
    ConnectError,
    DataError,
    Problem,
    RetriableError,
    SchemaBuilderError,
    Superseded,
)
from penstock.fields import Fields, Same
from penstock.functions import sink, source, transform
from penstock.metrics import Counter, Gauge, PluginMetrics
from penstock.offsets import Cursor, Offset, Offsets, OffsetUpdates, Primitive, SourcePartition
from penstock.plugin import API_VERSION, Converter, HeaderConverter, Plugin, Predicate, Transform
from penstock.python_data import schema_of, schema_of_cursor, value_of
from penstock.record import Header, Original, Record
from penstock.schema import Field, Schema, Type
from penstock.sink import FrameSink, Reporter, Sink, SinkConnector, SinkTaskContext, TopicPartition, Writer
from penstock.source import (
    Backlog,
    InputPartition,
    Limits,
    PartitionReader,
    PollingSource,
    Portion,
    Source,
    SourceConnector,
    TransactionEnd,
)
from penstock.values import Float32, Float64, Instant, Int8, Int16, Int32, Int64

__all__ = [
    "API_VERSION",
    "Backlog",
    "Config",
    "ConfigError",
    "ConnectError",
    "Connector",
    "Converter",
    "Counter",
    "Cursor",
    "DataError",
    "Field",
    "Fields",
    "Float32",
    "Float64",
    "FrameSink",
    "Gauge",
    "Header",
    "HeaderConverter",
    "Importance",
    "InputPartition",
    "Instant",
    "Int",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Limits",
    "Offset",
    "OffsetUpdates",
    "Offsets",
    "Original",
    "PartitionReader",
    "Password",
    "Plugin",
    "PluginContext",
    "PluginMetrics",
    "PollingSource",
    "Portion",
    "Predicate",
    "Primitive",
    "Problem",
    "Record",
    "RecordBatch",
    "Reporter",
    "RetriableError",
    "Same",
    "Schema",
    "SchemaBuilderError",
    "Sink",
    "SinkConnector",
    "SinkTaskContext",
    "Source",
    "SourceConnector",
    "SourcePartition",
    "Superseded",
    "TopicPartition",
    "TransactionEnd",
    "Transform",
    "Type",
    "Writer",
    "prop",
    "schema_of",
    "schema_of_cursor",
    "sink",
    "source",
    "transform",
    "value_of",
]
