"""Tests that the suites for sources and sinks share."""

from typing import Any

from penstock import _returned as returned
from penstock.connector import Connector
from penstock.testing._making import make, parsed
from penstock.testing._plugins import PluginSuite

__all__ = ["ConnectorSuite"]


class ConnectorSuite(PluginSuite):
    """Tests of source and sink connectors."""

    def test_the_example_passes_validation(self, request: Any) -> None:
        """`validate` returns no problems when it is called twice."""
        connector: Connector = make(self.plugin)
        config = parsed(self.plugin, self.example(request))
        for _ in range(2):
            found = returned.problems(connector.validate(config), returned.name(connector, "validate"))
            assert found == [], f"`validate` rejects the example: {'; '.join(map(str, found))}"

    def test_there_are_no_more_tasks_than_asked_for(self, request: Any) -> None:
        """The properties of each task are strings that can be parsed."""
        connector: Connector = make(self.plugin)
        properties = self.example(request)
        config = parsed(self.plugin, properties)
        before = dict(properties)
        for most in (1, 2, 7):
            found = connector.task_configs(config, properties, most)
            tasks = returned.task_properties(found, returned.name(connector, "task_configs"))
            assert properties == before, "`task_configs` modified the properties that were passed to it"
            assert 1 <= len(tasks) <= most, f"`task_configs` returned {len(tasks)} tasks; at most {most} are allowed"
            for task in tasks:
                parsed(self.plugin, task)
