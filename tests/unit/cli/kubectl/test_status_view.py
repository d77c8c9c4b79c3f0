"""Tables of `kubectl penstock status` and `versions`."""

from datetime import UTC, datetime
from typing import Any

from penstock_cli.kubectl.status_view import connector_list, connector_view, pods_of, versions_view
from penstock_cli.kubectl.task_figures import Figures, Pod

NOW = 1_780_000_000.0
RECENT = "2026-05-28T20:26:35Z"  # five seconds before
METRICS = """\
# TYPE kafka_connect_sink_task_sink_record_send_total counter
kafka_connect_sink_task_sink_record_send_total{connector="c",task="0"} 500.0
# TYPE kafka_connect_sink_task_lag gauge
kafka_connect_sink_task_lag{connector="c",task="0"} 42.0
"""


def connector(name: str = "orders-out", tasks: int = 2, **status: Any) -> dict[str, Any]:
    versions = {"connector": "1.2", "valueConverter": "1.0", "transforms": {"cast": "2.0"}}
    each = [
        {
            "id": n,
            "state": "Running",
            "pod": f"{name}-{n}-1",
            "restarts": n,
            "lastRecordTime": RECENT,
            "versions": versions,
        }
        for n in range(tasks)
    ]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Running",
        "message": "2 of 2\n tasks run",
        "lastTransitionTime": RECENT,
    }
    whole = {"state": "Running", "taskSummary": f"{tasks}/{tasks}", "tasks": each, "conditions": [ready], **status}
    return {
        "metadata": {"name": name, "namespace": "shop", "generation": 1},
        "spec": {"class": "io.acme.SqlSink", "state": "Running"},
        "status": {"lastRecordTime": RECENT, "connector": {"class": "SqlSink", "version": "1.2"}, **whole},
    }


def test_figures_are_read_from_the_metrics_of_a_task() -> None:
    found = Figures.of(METRICS, at=10.0)
    assert (found.records, found.lag, found.unit) == (500.0, 42.0, "")
    backlog = '# TYPE penstock_source_task_backlog_bytes gauge\npenstock_source_task_backlog_bytes{task="0"} 1000.0\n'
    assert (Figures.of(backlog, 0.0).lag, Figures.of(backlog, 0.0).unit) == (1000.0, " B")


def test_the_last_record_is_that_of_the_metrics_if_the_status_is_older() -> None:
    text = (
        "# TYPE penstock_task_last_record_timestamp_seconds gauge\npenstock_task_last_record_timestamp_seconds 1.78e9\n"
    )
    shown, figures = connector(tasks=1), Figures.of(text, at=1.0)
    assert figures.last_record == NOW
    assert " 0s ago " in connector_list([shown], {pods_of([shown])[0]: (None, figures)}, NOW, with_namespace=False)


def test_a_rate_needs_two_measurements_of_the_same_pod() -> None:
    assert Figures(12.0, 700.0).rate_since(Figures(10.0, 500.0)) == 100.0
    assert Figures(12.0, 700.0).rate_since(None) is None
    assert Figures(12.0, 3.0).rate_since(Figures(10.0, 500.0)) is None  # its container has restarted


def test_a_line_sums_rates_and_lags_of_all_tasks() -> None:
    shown = connector()
    measured = {pod: (Figures(8.0, 100.0, 50.0), Figures(10.0, 2300.0, 21.0)) for pod in pods_of([shown])}
    lines = connector_list([shown], measured, NOW, with_namespace=True).splitlines()
    head = "NAMESPACE NAME CLASS STATE TASKS READY RECORDS/S LAG LAST_RECORD VERSION REASON"
    assert lines[0].replace("LAST RECORD", "LAST_RECORD").split() == head.split(" ")
    assert " ".join(lines[1].split()) == "shop orders-out SqlSink Running 2/2 True 2,200 42 5s ago 1.2 Running"


def test_a_connector_without_a_status_is_pending() -> None:
    new = {"metadata": {"name": "new", "namespace": "shop"}, "spec": {"class": "Datagen"}}
    line = connector_list([new], {}, NOW, with_namespace=False).splitlines()[1]
    assert line.split() == ["new", "Datagen", "Pending", "-", "Unknown", "-", "-", "-", "-", "-"]
    assert connector_view(new, {}, NOW) == "shop/new: Pending (spec.state: Running)\nDatagen\n"


def test_details_show_tasks_conditions_topics_and_what_was_asked() -> None:
    topics = [{"name": "orders"}, {"name": "returns"}]
    failed = connector(state="Stopping", activeTopics=topics, activeTopicCount=5, newerPluginVersions=["sql-1.3"])
    failed["status"]["tasks"][1] |= {"state": "Failed", "reason": "PluginError", "message": "cannot write"}
    shown = connector_view(failed, {Pod("shop", "orders-out-0-1"): (None, Figures(1.0, 5.0, 3.0))}, NOW)
    assert shown.startswith("shop/orders-out: Stopping (spec.state: Running)\nSqlSink 1.2\n")
    assert "Newer PluginVersions, used after a restart: sql-1.3\n" in shown
    assert "task 1: cannot write\n" in shown
    assert "Topics: orders, returns and 3 more\n" in shown
    condition = next(line for line in shown.splitlines() if line.startswith("Ready"))
    assert condition.split(maxsplit=4) == ["Ready", "True", "5s", "Running", "2 of 2 tasks run"]


def test_control_characters_of_messages_do_not_reach_the_terminal() -> None:
    failed = connector()
    failed["status"]["tasks"][0] |= {"message": "cannot write \x1b]0;x\x07\nline 2", "reason": "\x1b[2J"}
    failed["status"]["conditions"][0]["message"] = "a\x9bb \u202e"
    shown = connector_view(failed, {}, NOW)
    assert "task 0: cannot write \\x1b]0;x\\x07\nline 2\n" in shown
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


def test_versions_are_listed_by_place_with_the_tasks_that_run_them() -> None:
    canary = connector(tasks=3)
    canary["status"]["tasks"][0]["versions"] = {"connector": "1.3", "transforms": {"cast": "2.0"}}
    assert [line.split() for line in versions_view(canary).splitlines()] == [
        ["PLUGIN", "VERSION", "TASKS"],
        ["connector", "1.3", "0"],
        ["connector", "1.2", "1,2"],
        ["transforms.cast", "2.0", "0,1,2"],
        ["value.converter", "1.0", "1,2"],
    ]


def test_tasks_that_want_executors_have_a_column_for_them() -> None:
    shown = connector()
    assert "EXECUTORS" not in connector_view(shown, {}, NOW)
    shown["status"]["tasks"][0]["executors"] = {"wanted": 2, "ready": 1, "reason": "QuotaExceeded"}
    head, first, second = connector_view(shown, {}, NOW).splitlines()[3:6]
    place = head.index("EXECUTORS")
    assert [line[place:].split()[0] for line in (first, second)] == ["1/2", "-"]


def test_number_that_autoscaling_has_chosen_is_shown_with_its_limits_and_its_last_change() -> None:
    shown = connector()
    assert "Autoscaling" not in connector_view(shown, {}, NOW)
    shown["spec"]["autoscaling"] = {"targetLagSeconds": 60, "min": 1, "max": 6}
    shown["status"]["autoscaling"] = {"tasks": 2}
    assert "Autoscaling: 2 tasks of 1 to 6\n" in connector_view(shown, {}, NOW)
    changed = datetime.fromtimestamp(NOW - 300, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown["status"]["autoscaling"] = {"tasks": 4, "lastScaleTime": changed, "message": "2 -> 4 tasks: task 1 is late"}
    line = "Autoscaling: 4 tasks of 1 to 6; 5m ago: 2 -> 4 tasks: task 1 is late\n"
    assert line in connector_view(shown, {}, NOW)
