"""A request is from the user of its token, or from whom a proxy names that proves itself; otherwise from nobody."""

import base64
from collections.abc import Mapping

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from penstock_operator.settings import ConsoleProxy
from penstock_operator.web.credentials import proxied_user, token_of
from penstock_web.access import User

SECRET = b"0123456789abcdef"
PROXY = ConsoleProxy(secret_name="proxy")


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer abc.d_e-f"},
        {"authorization": "bearer  abc.d_e-f "},
        basic("x:abc.d_e-f"),
        basic(":abc.d_e-f"),
    ],
)
def test_a_token_is_found(headers: Mapping[str, str]) -> None:
    assert token_of(headers) == "abc.d_e-f"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer a b"},
        {"Authorization": "Digest abc"},
        {"Authorization": "Basic no-base64"},
        {"Authorization": "Basic /w=="},
        {"Authorization": "Bearer " + "a" * 9_000},
        basic("x:"),
        basic("abc"),
        basic("x:abc\r\nImpersonate-User: admin"),  # it would be a header of the operator's own request
        {"Authorization": "Bearer abc", "authorization": "Bearer other"},
    ],
)
def test_anything_else_is_no_token(headers: Mapping[str, str]) -> None:
    assert token_of(headers) is None


def headers(**changes: str) -> dict[str, str]:
    given = {"X-Penstock-Proxy-Secret": SECRET.decode(), "X-Forwarded-User": "ann", "X-Forwarded-Groups": "team, ops"}
    return {**given, **{name.replace("_", "-"): value for name, value in changes.items()}}


def test_a_proxy_that_proves_itself_names_the_user() -> None:
    assert proxied_user(headers(), SECRET, PROXY) == User("ann", ("team", "ops", "system:authenticated"))
    alone = {n: v for n, v in headers().items() if n != "X-Forwarded-Groups"}
    assert proxied_user(alone, SECRET, PROXY) == User("ann", ("system:authenticated",))
    other = ConsoleProxy(secret_name="proxy", user_header="X-Who", groups_header="X-Teams")
    assert proxied_user(headers(X_Who="bob", X_Teams=""), SECRET, other) == User("bob", ("system:authenticated",))


@pytest.mark.parametrize(
    "given",
    [
        {"X-Forwarded-User": "ann"},
        headers(X_Penstock_Proxy_Secret=""),
        headers(X_Penstock_Proxy_Secret="0123456789abcdeg"),
        headers(X_Penstock_Proxy_Secret="\udcff"),
        headers(X_Forwarded_User=""),
        headers(X_Forwarded_User="system:admin"),
        headers(X_Forwarded_User="ann\udcff"),
        headers(X_Forwarded_Groups="team\t"),
    ],
)
def test_nobody_else_names_a_user(given: Mapping[str, str]) -> None:
    assert proxied_user(given, SECRET, PROXY) is None


@pytest.mark.parametrize("secret", [b"", b"short"])
def test_a_missing_or_short_secret_proves_nothing(secret: bytes) -> None:
    assert proxied_user(headers(X_Penstock_Proxy_Secret=secret.decode()), secret, PROXY) is None


def test_nobody_gets_into_kubernetes_own_groups() -> None:
    user = proxied_user(headers(X_Forwarded_Groups="system:masters,team,, system:nodes"), SECRET, PROXY)
    assert user == User("ann", ("team", "system:authenticated"))


@pytest.mark.parametrize("name", ["X-Forwarded-User", "X-Forwarded-Groups", "X-Penstock-Proxy-Secret"])
def test_a_header_that_the_proxy_added_to_one_of_the_client_is_not_believed(name: str) -> None:
    given = CIMultiDict(headers())
    given.add(name, "mine")
    assert proxied_user(CIMultiDictProxy(given), SECRET, PROXY) is None
