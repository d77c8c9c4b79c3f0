"""Java's client properties become librdkafka's, or are refused with the reason."""

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from penstock_model.kafka_properties import librdkafka
from penstock_model.kafka_properties.client_kinds import ClientKind
from penstock_model.kafka_properties.translation import refused, translate, translate_layers

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="anna" password="p\\"w=1;";'
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required username='anna' password=pw;"
OAUTH = "a.b.OAuthBearerLoginModule required clientId='c' clientSecret='s' scope='x';"
KERBEROS = 'a.b.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="p@R" serviceName="kafka";'


@pytest.mark.parametrize(
    ("kind", "java", "librdkafka_s"),
    [
        ("producer", {"linger.ms": "5"}, {"linger.ms": "5"}),
        ("producer", {"linger.ms": " 5 "}, {"linger.ms": "5"}),
        ("producer", {"acks": "all", "compression.type": "zstd"}, {"acks": "all", "compression.type": "zstd"}),
        ("producer", {"max.request.size": "2000000"}, {"message.max.bytes": "2000000"}),
        ("producer", {"request.timeout.ms": "5000"}, {"request.timeout.ms": "5000"}),
        ("consumer", {"request.timeout.ms": "5000"}, {"socket.timeout.ms": "5000"}),
        ("producer", {"compression.zstd.level": "3"}, {"compression.level": "3"}),
        ("producer", {"queue.buffering.max.ms": "7"}, {"linger.ms": "7"}),
        ("producer", {"partitioner": "murmur2_random"}, {}),
        ("consumer", {"fetch.max.wait.ms": "100"}, {"fetch.wait.max.ms": "100"}),
        ("consumer", {"max.partition.fetch.bytes": "100"}, {"fetch.message.max.bytes": "100"}),
        ("consumer", {"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ("consumer", {"auto.offset.reset": "latest"}, {"auto.offset.reset": "latest"}),
        ("consumer", {"isolation.level": "read_uncommitted"}, {"isolation.level": "read_uncommitted"}),
        ("consumer", {"enable.auto.commit": "false"}, {}),
        ("consumer", {"group.id": "g"}, {"group.id": "g"}),
        ("admin", {"receive.buffer.bytes": "-1"}, {"socket.receive.buffer.bytes": "0"}),
        ("admin", {"connections.max.idle.ms": "-1"}, {"connections.max.idle.ms": "0"}),
        ("admin", {"socket.keepalive.enable": "true"}, {"socket.keepalive.enable": "true"}),
        ("admin", {"security.protocol": "SASL_SSL"}, {"security.protocol": "SASL_SSL"}),
        ("admin", {"sasl.mechanism": "SCRAM-SHA-512"}, {"sasl.mechanism": "SCRAM-SHA-512"}),
        ("admin", {"sasl.jaas.config": PLAIN}, {"sasl.username": "anna", "sasl.password": 'p"w=1;'}),
        ("admin", {"sasl.jaas.config": SCRAM}, {"sasl.username": "anna", "sasl.password": "pw"}),
        (
            "admin",
            {"sasl.jaas.config": OAUTH},
            {
                "sasl.oauthbearer.client.id": "c",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "x",
                "sasl.oauthbearer.method": "oidc",
            },
        ),
        (
            "admin",
            {"sasl.jaas.config": KERBEROS},
            {"sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "p@R", "sasl.kerberos.service.name": "kafka"},
        ),
        ("admin", {"ssl.truststore.location": "/t", "ssl.truststore.type": "PEM"}, {"ssl.ca.location": "/t"}),
        ("admin", {"ssl.truststore.location": "/t.pem"}, {"ssl.ca.location": "/t.pem"}),
        ("admin", {"ssl.truststore.certificates": "-----B", "ssl.truststore.type": "PEM"}, {"ssl.ca.pem": "-----B"}),
        (
            "admin",
            {"ssl.keystore.location": "/k", "ssl.keystore.type": "PEM", "ssl.key.password": "x"},
            {"ssl.certificate.location": "/k", "ssl.key.location": "/k", "ssl.key.password": "x"},
        ),
        (
            "admin",
            {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"},
        ),
        ("admin", {"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
    ],
)
def test_a_property_is_passed_or_translated(
    kind: ClientKind, java: dict[str, str], librdkafka_s: dict[str, str]
) -> None:
    found = translate(kind, java, "")
    assert (found.problems, found.meaningless) == ([], [])
    assert found.properties == librdkafka_s


@pytest.mark.parametrize(
    ("kind", "java", "own"),
    [
        ("producer", {"buffer.memory": "33554432"}, {"buffer.memory": 33554432}),
        ("producer", {"max.block.ms": "9223372036854775807"}, {"max.block.ms": 2**63 - 1}),
        ("consumer", {"max.poll.records": "5000"}, {"max.poll.records": 5000}),
    ],
)
def test_what_penstock_does_itself_is_handed_over_apart(
    kind: ClientKind, java: dict[str, str], own: dict[str, int]
) -> None:
    found = translate(kind, java, "")
    assert (found.properties, found.own, found.problems) == ({}, own, [])


def test_metadata_age_is_how_often_metadata_are_asked_for() -> None:
    found = translate("consumer", {"metadata.max.age.ms": "1000"}, "")
    assert found.properties == {"topic.metadata.refresh.interval.ms": "1000", "metadata.max.age.ms": "3000"}
    assert found.own == {"metadata.max.age.ms": 1000}


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("producer", "key.serializer", "x.Y"),
        ("producer", "partitioner.class", "x.Y"),
        ("producer", "partitioner", "random"),
        ("producer", "interceptor.classes", "x.Y"),
        ("producer", "transactional.id", "mine"),
        ("consumer", "session.timeout.ms", "1"),
        ("consumer", "heartbeat.interval.ms", "1"),
        ("consumer", "partition.assignment.strategy", "x.Y"),
        ("consumer", "enable.auto.commit", "true"),
        ("consumer", "value.deserializer", "x.Y"),
        ("consumer", "auto.offset.reset", "by_duration:PT1H"),
        ("admin", "retries", "3"),
        ("admin", "metric.reporters", "x.Y"),
        ("admin", "ssl.protocol", "TLSv1.3"),
        ("admin", "sasl.kerberos.kinit.cmd", "/bin/sh"),
        ("admin", "plugin.library.paths", "/x.so"),
        ("admin", "sasl.login.callback.handler.class", "x.Y"),
    ],
)
def test_what_has_no_meaning_is_said_with_the_reason(kind: ClientKind, name: str, text: str) -> None:
    found = translate(kind, {name: text}, f"{kind}.override.")
    (problem,) = found.meaningless
    assert problem.property == f"{kind}.override.{name}"
    assert name not in found.properties


@pytest.mark.parametrize(
    ("kind", "name", "text", "message"),
    [
        ("producer", "linger.ms", "x", "Invalid value x for configuration linger.ms: Not a number of type INT"),
        ("producer", "acks", "7", "Invalid value 7 for configuration acks: String must be one of: all, -1, 0, 1"),
        ("producer", "batch.size", "0", "Invalid value 0 for configuration batch.size: Value must be from 1 to"),
        ("consumer", "max.poll.records", "0", "Invalid value 0 for configuration max.poll.records: Value must be from"),
        (
            "consumer",
            "isolation.level",
            "x",
            "Invalid value x for configuration isolation.level: String must be one of",
        ),
        ("admin", "ssl.truststore.location", "/t.jks", "is a Java key store (JKS), which librdkafka cannot read"),
        ("admin", "ssl.keystore.location", "/t.jks", "is a Java key store (JKS), which librdkafka cannot read"),
        ("admin", "ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", "has Java's cipher names; use OpenSSL's"),
        ("admin", "sasl.jaas.config", "x.Other required;", "must be '<class> required"),
        ("admin", "sasl.jaas.config", PLAIN.replace("password", "pass"), "password must be set"),
        ("admin", "sasl.mechanizm", "PLAIN", "is unknown; did you mean sasl.mechanism?"),
    ],
)
def test_what_cannot_be_is_a_problem_of_the_property_as_written(
    kind: ClientKind, name: str, text: str, message: str
) -> None:
    (problem,) = translate(kind, {name: text}, "x.").problems
    assert problem.property == f"x.{name}"
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lingr.ms", "it is not a known producer property; did you mean linger.ms?"),
        ("max.poll.records", "producer clients have no such property; it belongs to consumer clients"),
    ],
)
def test_what_nobody_knows_is_a_warning_and_left_out(name: str, message: str) -> None:
    found = translate("producer", {name: "5"}, "x.")
    assert [(p.property, p.message) for p in found.unknown] == [(f"x.{name}", f"has no effect: {message}")]
    assert (found.problems, found.meaningless, found.properties) == ([], [], {})


def test_no_message_shows_a_password() -> None:
    jaas = 'x.Unknown required username="anna" password="hunter2";'
    assert "hunter2" not in str(translate("admin", {"sasl.jaas.config": jaas}, "").problems)


@pytest.mark.parametrize(
    ("name", "text"),
    [("acks", "1"), ("enable.idempotence", "false"), ("retries", "0"), ("max.in.flight.requests.per.connection", "6")],
)
def test_exactly_once_overrules_what_would_break_it_and_says_so(name: str, text: str) -> None:
    assert translate("producer", {name: text}, "").properties == {name: text}
    found = translate("producer", {name: text}, "producer.override.", exactly_once=True)
    (overruled,) = found.overruled
    assert overruled.property == f"producer.override.{name}"
    assert "exactly-once delivery requires" in overruled.message
    assert (found.problems, found.properties) == ([], {})


@pytest.mark.parametrize(
    ("name", "text"),
    [("acks", "1"), ("acks", "0"), ("retries", "0"), ("max.in.flight.requests.per.connection", "6")],
)
def test_idempotence_with_what_contradicts_it_is_refused_with_both_names(name: str, text: str) -> None:
    layers = [("producer.", {"enable.idempotence": "true"}), ("producer.override.", {name: text})]
    (problem,) = translate_layers("producer", layers).problems
    assert problem.property == f"producer.override.{name}"
    assert f"{name}={text}" in problem.message
    assert "producer.enable.idempotence=true" in problem.message


def test_only_acks_contradict_nothing() -> None:
    assert translate("producer", {"acks": "1"}, "producer.override.").problems == []
    assert translate("producer", {"acks": "1", "enable.idempotence": "false"}, "").problems == []
    assert translate("producer", {"acks": "-1", "enable.idempotence": "true"}, "").problems == []


def test_a_delivery_in_a_transaction_ends_with_it() -> None:
    long = {"delivery.timeout.ms": "2147483647"}
    assert translate("producer", long, "").properties["delivery.timeout.ms"] == "2147483647"
    assert translate("producer", long, "", exactly_once=True).properties["delivery.timeout.ms"] == "60000"
    longer = {**long, "transaction.timeout.ms": "90000"}
    assert translate("producer", longer, "", exactly_once=True).properties["delivery.timeout.ms"] == "90000"


def test_later_layers_go_over_earlier_ones_also_under_another_name() -> None:
    found = translate_layers(
        "producer",
        [
            ("", {"bootstrap.servers": "a:1"}),
            ("producer.", {"max.request.size": "2000"}),
            ("producer.override.", {"message.max.bytes": "3000"}),
        ],
    )
    assert found.properties == {"bootstrap.servers": "a:1", "message.max.bytes": "3000"}


def test_a_problem_is_reported_where_it_was_written() -> None:
    layers = [("producer.", {"acks": "9", "linger.ms": "x"}), ("producer.override.", {"linger.ms": "y"})]
    found = translate_layers("producer", layers)
    assert sorted(p.property for p in found.problems) == ["producer.acks", "producer.override.linger.ms"]


JAAS = "sasl.jaas.config"


@pytest.mark.parametrize(
    ("policy", "allowed"),
    [
        ("All", {"acks", JAAS, "nonsense"}),
        ("None", set()),
        ("Principal", {JAAS}),
        ("Allowlist", {"acks"}),
    ],
)
def test_a_policy_allows_what_it_says(policy: str, allowed: set[str]) -> None:
    overrides = {"acks": "1", JAAS: PLAIN, "nonsense": "1"}
    problems = refused(policy, ["acks"], overrides, "producer.override.")
    assert {p.property.removeprefix("producer.override.") for p in problems} == overrides.keys() - allowed
    for problem in problems:
        name = problem.property.removeprefix("producer.override.")
        assert problem.message == (
            f"The '{policy}' policy does not allow '{name}' to be overridden in the connector configuration."
        )


@pytest.mark.parametrize("kind", ["producer", "consumer", "admin"])
def test_librdkafka_knows_every_name_of_the_table(kind: ClientKind) -> None:
    make = {"producer": Producer, "consumer": Consumer, "admin": AdminClient}[kind]
    unknown = []
    for name in sorted(librdkafka.names(kind) - {"debug", "group.id"}):
        try:
            make({"group.id": "g", name: "\x00no"} if kind == "consumer" else {name: "\x00no"})
        except KafkaException as e:
            if "No such configuration property" in str(e):
                unknown.append(name)
        except ValueError:
            pass
    assert unknown == []


def test_librdkafka_takes_a_translated_configuration() -> None:
    java = {
        "bootstrap.servers": "localhost:1",
        "acks": "all",
        "max.request.size": "2000000",
        "linger.ms": "5",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": PLAIN,
        "metadata.max.age.ms": "30000",
        "delivery.timeout.ms": "120000",
        "send.buffer.bytes": "-1",
    }
    found = translate("producer", java, "", exactly_once=True)
    Producer({**found.properties, "transactional.id": "t", "log_level": 0})
