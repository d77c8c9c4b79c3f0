"""Tests for plugins: functions that run one plugin, and test suites for the rules that all plugins must follow.

A suite is a base class of tests for pytest. Name the plugin and an example of its configuration, and run pytest:

    class TestMyTransform(TransformSuite):
        plugin = MyTransform
        properties = {"field": "id"}
        records = [Record(topic="t", value={"id": 1})]

`properties` may also be a fixture, for example one that uses `tmp_path`. A suite tests how the plugin interacts with
the runtime (offsets, retries, batches, shared values). Write separate tests for the purpose of the plugin.
"""

from penstock.testing._comparison import exactly, misfit, wire
from penstock.testing._converters import ConverterSuite
from penstock.testing._harness import apply_all, run_source, run_transform, run_writer
from penstock.testing._making import parsed
from penstock.testing._predicates import PredicateSuite
from penstock.testing._sinks import SinkSuite
from penstock.testing._sources import SourceSuite
from penstock.testing._transforms import TransformSuite

__all__ = [
    "ConverterSuite",
    "PredicateSuite",
    "SinkSuite",
    "SourceSuite",
    "TransformSuite",
    "apply_all",
    "exactly",
    "misfit",
    "parsed",
    "run_source",
    "run_transform",
    "run_writer",
    "wire",
]
