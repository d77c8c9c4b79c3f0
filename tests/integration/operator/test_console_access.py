"""What users may do in the console is what the API server lets them do, each with their own rights."""

import asyncio
import base64
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.client import Kube
from penstock_operator.metrics import Metrics
from penstock_operator.settings import Console, ConsoleActions, ConsoleProxy
from penstock_operator.thread_pool import Pool
from penstock_operator.web.access import KubernetesAccess
from penstock_web.access import Denied, User

from ..cluster_api.api import Api
from ..running import until
from .faults import FaultProxy, fail
from .test_kube import connector

T = TypeVar("T")
SECRET = "a-secret-of-the-proxy"
PAUSE = {"spec": {"state": "Paused"}}
ACTIONS = Console(enabled=True, actions=ConsoleActions(enabled=True))
PROXIED = Console(enabled=True, actions=ConsoleActions(enabled=True), proxy=ConsoleProxy(secret_name="proxy"))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def proxied(user: str, groups: str = "", secret: str = SECRET) -> dict[str, str]:
    return {"X-Penstock-Proxy-Secret": secret, "X-Forwarded-User": user, "X-Forwarded-Groups": groups}


def allow(api: Api, namespace: str, subject: Mapping[str, Any]) -> None:
    """Let somebody patch the Connectors of a namespace."""
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"namespace": namespace, "name": "editors"}}
    rule = {"apiGroups": ["penstock.dev"], "resources": ["connectors"], "verbs": ["patch"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "editors"}
    api.apply({**rbac, "kind": "Role", "rules": [rule]})
    api.apply({**rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]})


def account(api: Api, namespace: str, name: str) -> dict[str, Any]:
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": name}})
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}


def token_for(api: Api, namespace: str, name: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(api.call("POST", path, request)["status"]["token"])


@pytest.fixture
def token(api: Api, namespace: str) -> str:
    """Token of an account that may patch the namespace's Connectors."""
    allow(api, namespace, account(api, namespace, "ann"))
    return token_for(api, namespace, "ann")


@pytest.fixture
def powerless(api: Api, namespace: str) -> str:
    """Token of an account without rights."""
    account(api, namespace, "bob")
    return token_for(api, namespace, "bob")


Run = Callable[[Callable[[KubernetesAccess], Coroutine[Any, Any, T]]], T]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    return path


def run(kube: Kube, settings: Console, secret: Path, use: Callable[[KubernetesAccess], Coroutine[Any, Any, T]]) -> T:
    async def all_of_it() -> T:
        pool = Pool(4)
        try:
            return await use(KubernetesAccess(settings, kube.server, pool, secret))
        finally:
            pool.close()

    return asyncio.run(all_of_it())


async def allowed(access: KubernetesAccess, headers: Mapping[str, str], namespace: str) -> tuple[User, bool]:
    user = await access.user(headers)
    assert user is not None
    return user, await access.can_patch(user, namespace, "orders-in")


async def patched(access: KubernetesAccess, headers: Mapping[str, str], namespace: str, patch: Any = PAUSE) -> Any:
    user = await access.user(headers)
    assert user is not None
    return await access.patch(user, namespace, "orders-in", patch)


def managers(api: Api, namespace: str) -> set[str]:
    return {m["manager"] for m in api.get(connector(namespace))["metadata"]["managedFields"]}


def test_a_token_acts_with_its_own_rights(kube: Kube, api: Api, namespace: str, token: str, secret: Path) -> None:
    api.create(connector(namespace))

    def may() -> bool:
        return run(kube, ACTIONS, secret, lambda a: allowed(a, bearer(token), namespace))[1]

    until(may, what="the binding holds")
    user, _ = run(kube, ACTIONS, secret, lambda a: allowed(a, bearer(token), namespace))
    assert user.name == f"system:serviceaccount:{namespace}:ann"
    assert "system:serviceaccounts" in user.groups
    found = run(kube, ACTIONS, secret, lambda a: patched(a, bearer(token), namespace))
    assert found["spec"]["state"] == "Paused"
    assert "penstock-console" in managers(api, namespace)


def test_the_api_server_sees_the_user_and_not_the_operator(
    kube: Kube, api: Api, namespace: str, token: str, powerless: str, secret: Path
) -> None:
    """So its audit log, its admission policies and its rights are about the user."""
    api.create(connector(namespace))
    with pytest.raises(Denied, match=f'User "system:serviceaccount:{namespace}:bob" cannot patch resource'):
        run(kube, ACTIONS, secret, lambda a: patched(a, bearer(powerless), namespace))
    user, may = run(kube, ACTIONS, secret, lambda a: allowed(a, bearer(powerless), namespace))
    assert (user.name, may) == (f"system:serviceaccount:{namespace}:bob", False)
    assert api.get(connector(namespace))["spec"].get("state") in (None, "Running")


def test_rights_end_at_the_namespace(kube: Kube, api: Api, token: str, secret: Path) -> None:
    other = api.new_namespace()
    api.create(connector(other))
    assert not run(kube, ACTIONS, secret, lambda a: allowed(a, bearer(token), other))[1]
    with pytest.raises(Denied, match="cannot patch"):
        run(kube, ACTIONS, secret, lambda a: patched(a, bearer(token), other))


@pytest.mark.parametrize("text", ["nonsense", "a.b.c", "", "Basic"])
def test_a_wrong_token_is_nobodys(kube: Kube, secret: Path, text: str) -> None:
    headers = bearer(text) if text != "Basic" else {"Authorization": "Basic " + base64.b64encode(b"admin:x").decode()}
    assert run(kube, ACTIONS, secret, lambda a: a.user(headers)) is None


def test_clients_that_know_only_a_password_send_the_token_as_one(kube: Kube, secret: Path, powerless: str) -> None:
    text = base64.b64encode(f"penstock:{powerless}".encode()).decode()
    user = run(kube, ACTIONS, secret, lambda a: a.user({"Authorization": f"Basic {text}"}))
    assert user is not None
    assert user.name.endswith(":bob")


def test_a_token_is_asked_about_once_in_some_seconds(
    kube: Kube, metrics: Metrics, secret: Path, powerless: str, namespace: str
) -> None:
    async def use(access: KubernetesAccess) -> None:
        for _ in range(20):
            await allowed(access, bearer(powerless), namespace)
            assert await access.user(bearer("wrong")) is None

    before = sum(metrics.requests().values())
    run(kube, ACTIONS, secret, use)
    assert sum(metrics.requests().values()) - before == 3


def test_a_proxy_names_users_and_their_rights_decide(kube: Kube, api: Api, namespace: str, secret: Path) -> None:
    api.create(connector(namespace))
    group = f"team-{uuid.uuid4().hex}"
    allow(api, namespace, {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group})

    def may() -> bool:
        return run(kube, PROXIED, secret, lambda a: allowed(a, proxied("carl", group), namespace))[1]

    until(may, what="the binding holds")
    found = run(kube, PROXIED, secret, lambda a: patched(a, proxied("carl", group), namespace))
    assert found["spec"]["state"] == "Paused"
    assert "penstock-console" in managers(api, namespace)
    for groups in ("", "others", "system:masters"):
        assert not run(kube, PROXIED, secret, lambda a: allowed(a, proxied("carl", groups), namespace))[1]  # noqa: B023
        with pytest.raises(Denied, match=r"user carl cannot patch connectors\.penstock\.dev orders-in"):
            run(kube, PROXIED, secret, lambda a: patched(a, proxied("carl", groups), namespace))  # noqa: B023


@pytest.mark.parametrize(("settings", "given"), [(PROXIED, "another-secret-of-it"), (PROXIED, ""), (ACTIONS, SECRET)])
def test_without_proof_and_without_the_setting_no_headers_are_believed(
    kube: Kube, secret: Path, settings: Console, given: str
) -> None:
    assert run(kube, settings, secret, lambda a: a.user(proxied("carl", secret=given))) is None


def test_a_proxy_may_forward_tokens_too(kube: Kube, secret: Path, powerless: str) -> None:
    headers = {**bearer(powerless), **proxied("carl", secret="wrong")}
    user = run(kube, PROXIED, secret, lambda a: a.user(headers))
    assert user is not None
    assert user.name.endswith(":bob")
    headers = {**bearer("of-the-identity-provider"), **proxied("carl")}
    user = run(kube, PROXIED, secret, lambda a: a.user(headers))
    assert user is not None
    assert user.name == "carl"


def test_a_changed_or_missing_secret_counts_immediately(kube: Kube, secret: Path) -> None:
    async def use(access: KubernetesAccess) -> None:
        assert await access.user(proxied("carl")) is not None
        secret.write_text("another-secret-of-it")
        assert await access.user(proxied("carl")) is None
        secret.unlink()
        assert await access.user(proxied("carl")) is None

    run(kube, PROXIED, secret, use)


def test_the_words_of_the_api_server_reach_the_user(kube: Kube, api: Api, namespace: str, secret: Path) -> None:
    allow(api, namespace, account(api, namespace, "ann"))
    own = token_for(api, namespace, "ann")
    until(lambda: run(kube, ACTIONS, secret, lambda a: allowed(a, bearer(own), namespace))[1], what="the binding holds")
    with pytest.raises(Denied, match=r'connectors\.penstock\.dev "orders-in" not found'):
        run(kube, ACTIONS, secret, lambda a: patched(a, bearer(own), namespace))
    api.create(connector(namespace))
    with pytest.raises(Denied, match=r'spec\.state: Unsupported value: "Slow"'):
        run(kube, ACTIONS, secret, lambda a: patched(a, bearer(own), namespace, {"spec": {"state": "Slow"}}))


def test_without_actions_nobody_acts(kube: Kube, api: Api, namespace: str, token: str, secret: Path) -> None:
    api.create(connector(namespace))
    readers = Console(enabled=True, require_user=True)
    _, may = run(kube, readers, secret, lambda a: allowed(a, bearer(token), namespace))
    assert not may
    with pytest.raises(Denied, match="actions are not enabled"):
        run(kube, readers, secret, lambda a: patched(a, bearer(token), namespace))


def test_an_api_server_that_does_not_answer_is_no_refusal(
    spoilt: Kube, faults: FaultProxy, secret: Path, powerless: str
) -> None:
    faults.spoil(fail(503), path="selfsubjectreviews", times=None)
    with pytest.raises(OperatorError, match="Asking for the user of a token"):
        run(spoilt, ACTIONS, secret, lambda a: a.user(bearer(powerless)))


def test_no_token_and_no_value_reaches_the_log(
    kube: Kube, api: Api, namespace: str, token: str, secret: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    api.create(connector(namespace))
    until(lambda: run(kube, ACTIONS, secret, lambda a: allowed(a, bearer(token), namespace))[1], what="it may")
    patch = {"metadata": {"annotations": {"penstock.dev/alter-offsets": "t1 private"}}, **PAUSE}
    run(kube, ACTIONS, secret, lambda a: patched(a, bearer(token), namespace, patch))
    user = run(kube, ACTIONS, secret, lambda a: a.user(bearer(token)))
    own = [r for r in caplog.records if r.name.startswith("penstock")]
    assert [r.getMessage() for r in own if r.levelno == logging.INFO] == [
        f"Connector {namespace}/orders-in was changed in the console by user system:serviceaccount:{namespace}:ann: "
        "metadata.annotations.penstock.dev/alter-offsets, spec.state"
    ]
    assert token not in caplog.text + repr(user)
    assert "private" not in "".join(r.getMessage() for r in own)
    assert token.split(".")[2] not in caplog.text


@pytest.mark.parametrize("name", ["orders-in/status", "orders-in/", "..", "Orders", "orders-in%2Fstatus", ""])
def test_a_patch_is_only_of_a_connector(kube: Kube, api: Api, namespace: str, secret: Path, name: str) -> None:
    """The API server takes a slash in a name, even encoded, for the beginning of a subresource."""
    api.create(connector(namespace))
    allow(api, namespace, {"kind": "User", "name": "carol", "apiGroup": "rbac.authorization.k8s.io"})

    async def act(access: KubernetesAccess) -> None:
        user = await access.user(proxied("carol"))
        assert user is not None
        assert not await access.can_patch(user, namespace, name)
        await access.patch(user, namespace, name, PAUSE)

    with pytest.raises(Denied, match="does not name a Connector"):
        run(kube, PROXIED, secret, act)
    assert api.get(connector(namespace))["spec"].get("state") in (None, "Running")
