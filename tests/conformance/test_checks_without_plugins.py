"""The checks of the webhook, which has only definitions of plugins, refuse nothing that the plan with plugins accepts."""

import pytest

from penstock import ConfigError
from penstock_cli.manifests.connect_forms import connector
from penstock_model.validation.connector import PluginKnowledge, check_connector
from penstock_model.validation.topics import PolicyUse

from .case_files import Case, cases
from .connectors import planned, worker_of

NO_PLUGIN_VERSIONS = PluginKnowledge((), lambda name: None, "4.3.1")
LATER = {"topic": "Kafka accepts no topic named", "topics": "Kafka accepts no topic named"}
"""Problems that the plan does not have: Kafka refuses such names when tasks run."""


@pytest.mark.parametrize("example", cases("validation"))
def test_the_checks_without_plugins_refuse_only_what_the_plan_refuses(example: Case) -> None:
    worker = worker_of(example["input"]["worker"])
    try:
        resource = connector(example["config"])
    except ConfigError:
        return  # it cannot be read at all
    refused = set[tuple[str, str]]()
    try:
        check_connector(resource, worker, NO_PLUGIN_VERSIONS, PolicyUse(), lambda unknown: False)
    except ConfigError as e:
        refused = {(p.property, p.message) for p in e.problems}
    wrong = set[str]()
    try:
        planned(example["config"], worker)
    except ConfigError as e:
        wrong = {p.property for p in e.problems}
    assert not [(n, m) for n, m in refused if n not in wrong and not m.startswith(LATER.get(n, "-"))]
