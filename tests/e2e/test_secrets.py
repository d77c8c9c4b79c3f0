"""Secrets reach tasks and nobody else."""

import base64
import secrets
import urllib.parse

import pytest

from .place import Place, task
from .release import Release
from .witness import Witness

LEAKY = """
import logging
import sys

from penstock import Config, Password, Source, SourceConnector, prop


class LeakyConfig(Config):
    topic: str = prop("topic", doc="Where to.")
    password: Password = prop("password", doc="What must not be told.")
    copied: str = prop("copied", "", doc="The same, copied by the plugin.")
    url: str = prop("url", "", doc="The same inside of another text.")


class Leaky(SourceConnector):
    Config = LeakyConfig

    def task_configs(self, config, properties, max_tasks):
        secret = config.password.reveal()
        print("planning with", secret)
        return [{**properties, "copied": secret, "url": f"jdbc:db://user:{secret}@db.example/orders"}]

    def source(self, config):
        return LeakySource(config)

    def reader(self, config):
        raise NotImplementedError


class LeakySource(Source):
    def __init__(self, config):
        self._config = config

    def start(self, offsets):
        secret = self._config.password.reveal()
        assert self._config.copied == secret, "the task gets what the plugin has copied"
        assert self._config.url == f"jdbc:db://user:{secret}@db.example/orders"
        print("starting with", secret)
        print("starting with", secret, file=sys.stderr)
        logging.getLogger("leaky").error("logging in with %s", secret)
        raise RuntimeError(f"cannot log in with {secret} at {self._config.url}")

    def latest_offsets(self, start, limits):
        return {}

    def partitions(self, start, end):
        return []
"""


def forms(secret: str) -> list[str]:
    """The secret as it may stand in a text."""
    return [secret, urllib.parse.quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("=")[:-1]]


@pytest.mark.slow
def test_a_secret_that_a_plugin_gives_away_is_found_nowhere(place: Place, release: Release) -> None:
    secret = f"S3cr/t+{secrets.token_hex(12)}"
    witness = Witness(place.cluster.api, place.namespace)
    place.secret("db", password=secret)
    source = place.connector(
        "leaky",
        "leaky:Leaky",
        {"topic": f"{place.namespace}.leaky", "password": "${secret:db:password}"},
        template=place.plugin("leaky", LEAKY),
        restart={"maxRestarts": 1, "backoff": {"initial": "1s", "factor": 1, "max": "1s"}},
    )
    source.says("TasksFailed", "spec.restart.maxRestarts", limit=120)
    own = task(source.get())
    assert "cannot log in with ${secret:db:password}" in own["message"], "people read the reference in its place"
    assert "cannot log in with ${secret:db:password}" in own["trace"]
    source.tells("TaskFailed", "cannot log in with")

    seen = list(witness.texts())
    assert any("starting with" in text for where, text in seen if where == "a pod's log")
    assert {n.split("-")[1] for n in witness.names("pods")} >= {"plan", "0"}
    assert len(witness.names("configmaps")) >= 3, "requests and plans were seen"
    every = [*seen, *(("the operator's log", line) for line in release.log.lines)]
    found = {(where, form) for where, text in every for form in forms(secret) if form in text}
    assert not found
    assert place.kafka.holding(*forms(secret)) == []


def test_a_changed_secret_restarts_the_tasks_that_use_it_unless_they_ignore_it(place: Place) -> None:
    place.secret("client", id="one", unused="a")
    uses = {"producer.override.client.id": "${secret:client:id}", "rate": 50}
    follows = place.datagen("follows", config=uses)
    ignores = place.datagen("ignores", config=uses, onSecretChange="Ignore")
    follows.reaches("Running")
    ignores.reaches("Running")
    before = {**follows.lives(), **ignores.lives()}
    place.secret("client", id="two", unused="a")
    follows.until(lambda c: task(c).get("incarnation") == 2, "its task begins another life")
    follows.reaches("Running")
    assert follows.pod() not in before
    assert ignores.lives().items() <= before.items()
    place.secret("client", id="two", unused="b")
    follows.apply(state="Paused")
    follows.reaches("Paused")
    assert task(follows.get())["incarnation"] == 2, "a key that nobody refers to restarts nothing"
