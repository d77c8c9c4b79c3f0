"""Names and texts that indicate a secret, where no definition of the property is known."""

import pytest

from penstock_model.connect.secret_names import has_secret_text, is_secret_name, secret_parts


@pytest.mark.parametrize(
    "name",
    [
        "database.password",
        "javax.net.ssl.keyStorePassword",
        "db.pw",
        "jdbcPwd",
        "connection.pass",
        "aws.secret.access.key",
        "camel.component.minio.accessKey",
        "azure.storage.key",
        "salesforce.consumer.key",
        "ssl.keystore.key",
        "schema.registry.basic.auth.user.info",
        "apicurio.registry.request.headers.Authorization",
        "gcs.credentials.json",
        "keyfile",
        "sentry.dsn",
        "slack.webhook.url",
        "azure.servicebus.connection.string",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "primary.key.mode",
        "primary.key.fields",
        "database.password.file",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.keymanager.algorithm",
        "aws.credentials.provider.class",
        "token.refresh.interval.ms",
        "storage.keyspace",
        "sasl.oauthbearer.scope",
        "org.apache.kafka.sasl.oauthbearer.allowed.urls",
        "java.security.auth.login.config",
        "jdk.tls.client.SignatureSchemes",
        "javax.net.ssl.keyStore",
        "passthrough.headers",
        "webhook.port",
        "message.key.columns",
        "topic",
    ],
)
def test_names_of_other_properties(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("jdbc:x://ann:a:b@db/shop", ["a:b"]),
        (f"https://ann:{1500 * 'x'}@db", [1500 * "x"]),
        ("password==hunter2", ["hunter2"]),
        ("jdbc:oracle:thin:ann/hunter2@db:1521/shop", ["hunter2"]),
        ("jdbc:sqlserver://db;user=ann;password=hunter=2;encrypt=true", ["hunter=2"]),
        ("https://store/x?sv=1&sig=abc%3D", ["abc%3D"]),
        ("AccountName=a;AccountKey=abc==", ["abc=="]),
        ('{"user": "ann", "password" : "hunter2"}', ["hunter2"]),
        ("Bearer t0ken", []),
        ("-----BEGIN RSA PRIVATE KEY-----", []),
        ("https://hooks.slack.com/services/T0/B0/x", []),
    ],
)
def test_texts_with_a_secret_and_its_parts(text: str, parts: list[str]) -> None:
    assert has_secret_text(text)
    assert [*secret_parts(text)] == parts


@pytest.mark.parametrize(
    "text",
    [
        "jdbc:postgresql://db:5432/shop",
        "abfss://container@account.dfs.core.windows.net/orders",
        "passenger_count:int32,token:string",
        "password:pwd",
        "password=;user=ann",
        "SELECT * FROM a JOIN b ON a.key = b.key",
        '{"key": "id", "name": "token", "type": "string"}',
        "basic",
    ],
)
def test_texts_without_a_secret(text: str) -> None:
    assert not has_secret_text(text)
    assert not [*secret_parts(text)]
