"""The page of metrics: whatever a connector holds, its rows are its own, and the others' stand."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock_operator.key import Key
from penstock_operator.metrics.connector_rows import ConnectorFigures, ConnectorRows

ODD = ["a\rb", "a\r# HELP b", "a\n# TYPE b", "a\u2028b", "a\x0bb\x1cb\x85b", '"} 1', "\\", ""]


@pytest.mark.parametrize("text", ODD)
def test_no_text_of_a_connector_spoils_the_page_for_the_others(text: str) -> None:
    rows = ConnectorRows()
    rows.put(Key("shop", "odd"), ConnectorFigures(class_name=text, version=text, state="Running"))
    rows.put(Key("shop", "plain"), ConnectorFigures(class_name="FileStreamSource", state="Running"))
    # Prometheus ends lines by \n alone; this reader takes a text as it is.
    read = {
        sample.labels["name"]: sample.labels["class"]
        for family in text_string_to_metric_families(rows.page().decode())
        for sample in family.samples
        if sample.name == "penstock_connector_info"
    }
    assert read == {"odd": text, "plain": "FileStreamSource"}


def test_a_connector_with_executors_has_rows_for_them_and_no_other_has() -> None:
    rows = ConnectorRows()
    rows.put(Key("shop", "large"), ConnectorFigures(executors=(4, 1)))
    rows.put(Key("shop", "plain"), ConnectorFigures())
    found = [s for f in text_string_to_metric_families(rows.page().decode()) for s in f.samples]
    executors = [s for s in found if s.name == "penstock_connector_executors"]
    assert [(s.labels["name"], s.labels["state"], s.value) for s in executors] == [
        ("large", "wanted", 4),
        ("large", "ready", 1),
    ]


def test_connector_with_autoscaling_has_a_row_for_its_number_of_tasks_and_no_other_has() -> None:
    rows = ConnectorRows()
    rows.put(Key("shop", "scaled"), ConnectorFigures(desired_tasks=3))
    rows.put(Key("shop", "plain"), ConnectorFigures())
    found = [s for f in text_string_to_metric_families(rows.page().decode()) for s in f.samples]
    assert [(s.labels["name"], s.value) for s in found if s.name == "penstock_connector_desired_tasks"] == [
        ("scaled", 3)
    ]
