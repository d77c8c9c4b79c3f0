"""What the author of a plugin tests it with: a harness that runs one plugin, and suites of what every plugin promises.

A suite is a base class of tests for pytest. Name the plugin and an example of its configuration, and run pytest:

    class TestMyTransform(TransformSuite):
        plugin = MyTransform
        properties = {"field": "id"}
        records = [Record(topic="t", value={"id": 1})]

What a suite needs from outside is a fixture, to be overridden: `properties` of a source or sink may come from one that
takes `tmp_path`. A suite finds what is wrong with the seams (offsets, repetition, batches, shared values); what the plugin
is for remains to be tested by its author.
"""

from penstock.testing._common import exactly, misfit, wire
from penstock.testing._converters import ConverterSuite
from penstock.testing._harness import apply_all, parsed, run_source, run_transform, run_writer
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
