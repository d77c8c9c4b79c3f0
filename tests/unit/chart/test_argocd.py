"""What Argo CD makes of a Connector: the Lua that the chart ships, run as Argo CD runs it (Lua 5.1)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml
from lupa import lua51  # type: ignore[import-untyped]

from .rendering import CHART, Helm, least

ARGOCD = CHART / "files" / "argocd"
Object = dict[str, Any]
Health = tuple[str, str]


def run(script: str, obj: Object) -> Any:
    """What a script answers to a resource. Argo CD gives the base library and, on demand, a part of `os`."""
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    # Only what Argo CD's sandbox has, so that a script that needs more fails here too.
    lua.execute("""
        local os = { date = os.date, time = os.time, clock = os.clock }
        local plain = { ipairs = ipairs, pairs = pairs, tostring = tostring, tonumber = tonumber, type = type, next = next }
        sandbox = plain
        plain.require = function(name) if name == "os" then return os end error("no library " .. name) end
    """)
    sandbox = lua.globals().sandbox
    sandbox.obj = table(lua, obj)
    load = lua.eval("function(text, env) local f = assert(loadstring(text)) setfenv(f, env) return f() end")
    return load(script, sandbox)


def table(lua: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        return lua.table_from({k: table(lua, v) for k, v in value.items()})
    if isinstance(value, list):
        return lua.table_from([table(lua, v) for v in value])
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value  # as from JSON


def health(obj: Object) -> Health:
    found = run((ARGOCD / "health.lua").read_text(), obj)
    return found["status"], found["message"]


def condition(name: str, status: str, reason: str = "Reason", message: str = "") -> dict[str, str]:
    return {"type": name, "status": status, "reason": reason, "message": message or f"{name} says this"}


def connector(*conditions: dict[str, str], generation: int = 3, observed: int = 3, **metadata: Any) -> Object:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"name": "orders-in", "generation": generation, **metadata},
        "spec": {"class": "Datagen"},
        "status": {"observedGeneration": observed, "conditions": list(conditions)},
    }


RECONCILING = condition("Reconciling", "True")


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(connector(condition("Ready", "Unknown"), RECONCILING), "Progressing", id="starting"),
        pytest.param(connector(condition("Ready", "False", "RollingOut"), RECONCILING), "Progressing", id="rolling"),
        pytest.param(
            connector(condition("Ready", "False", "WorkerSecretMissing"), RECONCILING), "Progressing", id="waiting"
        ),
        pytest.param(connector(condition("Ready", "True", "Running")), "Healthy", id="running, all tasks"),
        pytest.param(
            connector(condition("Ready", "False", "TasksFailed"), RECONCILING), "Degraded", id="some tasks failed"
        ),
        pytest.param(
            connector(condition("Ready", "False", "TasksLost"), RECONCILING), "Degraded", id="some pods lost, again"
        ),
        pytest.param(
            connector(*(condition(c, "Unknown", "KafkaUnavailable") for c in ("Ready", "Reconciling", "Stalled"))),
            "Progressing",
            id="the operator is blind",
        ),
        pytest.param(
            connector(condition("Ready", "False", "ConfigInvalid"), condition("Stalled", "True")),
            "Degraded",
            id="invalid configuration, the old one runs on",
        ),
        pytest.param(
            connector(condition("Ready", "False", "TasksFailed"), condition("Stalled", "True")),
            "Degraded",
            id="retries exhausted",
        ),
        pytest.param(connector(condition("Ready", "True", "Paused")), "Suspended", id="paused"),
        pytest.param(connector(condition("Ready", "True", "Stopped")), "Suspended", id="stopped"),
        pytest.param(
            connector(condition("Ready", "True"), deletionTimestamp="2026-01-31T12:00:00Z"),
            "Progressing",
            id="deleting",
        ),
        pytest.param(
            connector(condition("Ready", "True"), condition("Reconciling", "False"), condition("Stalled", "False")),
            "Healthy",
            id="conditions that are False say nothing",
        ),
        pytest.param(connector(condition("Ready", "False")), "Progressing", id="not Ready and no more said"),
    ],
)
def test_health_follows_the_conditions(obj: Object, wanted: str) -> None:
    assert health(obj)[0] == wanted


def test_health_of_an_earlier_generation_is_none_of_this_one() -> None:
    old = connector(condition("Ready", "True", "Running"), generation=4, observed=3)
    assert health(old) == ("Progressing", "Waiting for the operator")
    stalled = connector(condition("Stalled", "True"), generation=4, observed=3)
    assert health(stalled)[0] == "Progressing"


@pytest.mark.parametrize("status", [None, {}, {"observedGeneration": -1}])
def test_a_connector_that_no_operator_has_seen_is_not_healthy(status: Object | None) -> None:
    obj = {**connector(), "status": status}
    assert health(obj) == ("Progressing", "Waiting for the operator")
    assert health({"metadata": {"generation": 1}, "spec": {}}) == ("Progressing", "Waiting for the operator")


def test_health_gives_the_message_that_matters() -> None:
    ready = condition("Ready", "False", "ConfigInvalid", "not ready")
    assert health(connector(ready, condition("Stalled", "True", message="file: is missing")))[1] == "file: is missing"
    assert health(connector(ready, condition("Reconciling", "True", message="planning")))[1] == "planning"
    assert health(connector(ready))[1] == "not ready"
    deleting = connector(ready, deletionTimestamp="2026-01-31T12:00:00Z", finalizers=["penstock.dev/reset-offsets"])
    assert health(deleting)[1] == "Being deleted; waiting for penstock.dev/reset-offsets"


def actions() -> dict[str, str]:
    return {f.stem: f.read_text() for f in (ARGOCD / "actions").glob("*.lua") if f.stem != "discovery"}


@pytest.mark.parametrize(
    ("state", "enabled"),
    [
        (None, {"pause", "stop", "restart", "restart-failed"}),
        ("Running", {"pause", "stop", "restart", "restart-failed"}),
        ("Paused", {"resume", "stop", "restart", "restart-failed"}),
        ("Stopped", {"resume", "pause"}),
    ],
)
def test_actions_are_offered_where_they_do_something(state: str | None, enabled: set[str]) -> None:
    obj = connector()
    if state is not None:
        obj["spec"]["state"] = state
    offered = run((ARGOCD / "actions" / "discovery.lua").read_text(), obj)
    assert set(offered) == set(actions())
    assert {name for name in offered if not offered[name]["disabled"]} == enabled


@pytest.mark.parametrize(("name", "state"), [("pause", "Paused"), ("resume", "Running"), ("stop", "Stopped")])
def test_an_action_sets_the_state(name: str, state: str) -> None:
    assert run(actions()[name], connector())["spec"]["state"] == state


@pytest.mark.parametrize("name", ["restart", "restart-failed"])
@pytest.mark.parametrize("annotations", [{}, {"annotations": {"note": "kept"}}])
def test_a_restart_is_a_new_token(name: str, annotations: Object) -> None:
    found = run(actions()[name], connector(**annotations))["metadata"]["annotations"]
    assert found[f"penstock.dev/{name}"].startswith("argocd-2")
    assert found["note"] == ("kept" if annotations else None)


@pytest.fixture
def snippet() -> Callable[[str], Any]:
    data: dict[str, str] = yaml.safe_load((ARGOCD / "argocd-cm.yaml").read_text())["data"]
    return lambda key: data[f"resource.customizations.{key}"]


def test_the_snippet_for_argocd_cm_holds_the_files(snippet: Callable[[str], Any]) -> None:
    for kind in ("Connector", "TopicCreationPolicy", "PluginVersion"):
        assert snippet(f"health.penstock.dev_{kind}") == (ARGOCD / "health.lua").read_text()
    found = yaml.safe_load(snippet("actions.penstock.dev_Connector"))
    assert found["discovery.lua"] == (ARGOCD / "actions" / "discovery.lua").read_text()
    assert {d["name"]: d["action.lua"] for d in found["definitions"]} == actions()


def test_the_release_can_bring_the_snippet(helm: Helm) -> None:
    rendered = helm.render(least(argoCD={"configMap": True}))
    data = yaml.safe_load((ARGOCD / "argocd-cm.yaml").read_text())["data"]
    assert rendered.one("ConfigMap", "penstock-argocd")["data"] == data
