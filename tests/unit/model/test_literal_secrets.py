"""Passwords of a configuration that messages must not show, and references to passwords, which they do show."""

import pytest

from penstock import Converter
from penstock.config import Config, Password, prop
from penstock_model.connect.redaction import HIDDEN, Redactor, client_secrets, literal_secrets
from penstock_model.connect.variables import Secret
from penstock_runtime.plan.plaintext_passwords import literal_passwords


class Plugin(Config):
    """Configuration with a password."""

    open_prefixes = ("header.", "option.")
    secret_prefixes = ("header.",)
    password: Password | None = prop("db.password", None, doc="The password.")


class PluginOf(Converter):
    """Plugin with this configuration."""

    Config = Plugin


def test_a_password_is_hidden_and_a_reference_to_one_is_shown() -> None:
    assert [*literal_secrets(Plugin, {"db.password": " hunter22 "})] == [Secret(HIDDEN, "hunter22")]
    assert [*literal_secrets(Plugin, {"db.password": "${secret:db:password}"})] == []


def test_open_properties_of_a_secret_prefix_are_hidden() -> None:
    texts = {"header.Authorization": "Bearer t0ken", "option.size": "many", "header.Trace": "${secret:t:id}"}
    assert [*literal_secrets(Plugin, texts)] == [Secret(HIDDEN, "Bearer t0ken")]
    assert literal_passwords({f"value.converter.{n}": t for n, t in texts.items()}, {"value.converter": PluginOf}) == {
        "value.converter.header.Authorization": "Bearer t0ken"
    }


@pytest.mark.parametrize(("text", "is_hidden"), [("hunter22", True), ("${secret:tls:key}", False)])
def test_so_it_is_with_a_password_of_a_client(text: str, is_hidden: bool) -> None:
    found = Redactor(client_secrets({"consumer.override.ssl.key.password": text}))(f"cannot use {text}")
    assert found == (f"cannot use {HIDDEN}" if is_hidden else f"cannot use {text}")
