"""Schemas, messages and URLs that are wrong: a record fails in words, and no message has a value or a password."""

import json
import logging
import traceback
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy

from penstock import ConfigError, DataError
from penstock.testing import parsed
from penstock_model.connect.redaction import HIDDEN, literal_secrets
from penstock_model.connect.variables import Secret
from penstock_registry.apicurio.client import ApicurioRegistry
from penstock_registry.apicurio.converter import ApicurioAvroConverter
from penstock_registry.avro.config import AvroConverterConfig
from penstock_registry.avro.converter import AvroConverter
from penstock_registry.avro.reader import AvroReader
from penstock_registry.avro.types import parse_avro
from penstock_registry.json_schema.config import JsonSchemaConverterConfig
from penstock_registry.json_schema.reader import JsonReader
from penstock_registry.json_schema.types import parse_json_schema
from penstock_registry.json_schema.validation import RecordValidator
from penstock_registry.references import Reference, collect_references

DECIMAL = {
    "type": "number",
    "title": "org.apache.kafka.connect.data.Decimal",
    "connect.type": "bytes",
    "connect.parameters": {"scale": "2"},
}


@pytest.mark.parametrize("url", ["http://u:s3/cret@h", "http://u:p@h:port", "http://u:p@[::1"])
def test_a_url_that_cannot_be_used_is_an_error_of_the_configuration(url: str) -> None:
    for kind, name in ((AvroConverter, "schema.registry.url"), (ApicurioAvroConverter, "apicurio.registry.url")):
        with pytest.raises(ConfigError, match="the host or the port is not valid") as failed:
            parsed(kind, {name: url})
        assert "s3" not in str(failed.value)


@pytest.mark.parametrize(
    "url", ["ftp://u:s3cret@h", "u:s3cret@h:1", "http://h/x?token=s3cret", "http://h/#s3cret", "http:///s3cret"]
)
def test_a_url_that_is_refused_is_not_shown(url: str) -> None:
    for kind, name in ((AvroConverter, "schema.registry.url"), (ApicurioAvroConverter, "apicurio.registry.url")):
        with pytest.raises(
            ConfigError, match=rf"Invalid value \[hidden\] for configuration {name}: a URL (must|of)"
        ) as failed:
            parsed(kind, {name: url})
        assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize("path", ["/apis/ccompat/v7", "/apis/registry/v1", "/apis/registry/v2/x"])
def test_an_api_of_apicurio_that_is_refused_is_named_without_the_password(path: str) -> None:
    with pytest.raises(ConfigError, match=r"apicurio\.registry\.url: .*/apis/registry/v2") as failed:
        parsed(ApicurioAvroConverter, {"apicurio.registry.url": f"http://u:s3cret@h{path}"})
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize("url", ["oauth.example/token?key=s3cret", "ftp://u:s3cret@h"])
def test_a_url_of_tokens_that_is_refused_is_not_shown(url: str) -> None:
    given: Any = {
        AvroConverter: {
            "schema.registry.url": "http://h",
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.issuer.endpoint.url": url,
            "bearer.auth.client.id": "c",
            "bearer.auth.client.secret": "d",
        },
        ApicurioAvroConverter: {
            "apicurio.registry.url": "http://h",
            "apicurio.auth.service.token.endpoint": url,
            "apicurio.auth.client.id": "c",
            "apicurio.auth.client.secret": "d",
        },
    }
    for kind, texts in given.items():
        with pytest.raises(ConfigError, match="a URL must begin with") as failed:
            parsed(kind, texts)
        assert "s3cret" not in str(failed.value)


def test_headers_of_requests_are_passwords() -> None:
    texts = {"apicurio.registry.request.headers.X-Key": "s3cret", "apicurio.registry.url": "http://h"}
    assert [*literal_secrets(ApicurioAvroConverter.Config, texts)] == [Secret(HIDDEN, "s3cret")]


REFERENCE: Any = {
    AvroConverter: {"id": 7, "schema": '"string"', "references": [{"name": "A", "subject": "a", "version": 1}]},
    ApicurioAvroConverter: [{"name": "A", "groupId": "g", "artifactId": "a", "version": "1"}],
}


@pytest.mark.parametrize("kind", list(REFERENCE))
def test_references_that_lead_back_to_themselves_fail_the_record_and_are_asked_for_once(
    kind: type[AvroConverter], proxy: Proxy
) -> None:
    proxy.answer = (200, "application/json", json.dumps(REFERENCE[kind]))
    name = "apicurio.registry.url" if kind is ApicurioAvroConverter else "schema.registry.url"
    converter = kind()
    converter.configure(parsed(kind, {name: proxy.url}), is_key=False)
    for _ in range(10):
        with pytest.raises(DataError, match="its reference A refers to itself"):
            converter.to_connect("t", b"\0" * 7 + b"\1\1\1")
    assert len(proxy.requests) <= 6
    converter.close()


@pytest.mark.parametrize(("branches", "cause"), [(1, "more than 100 levels deep"), (200, "more than 10000 references")])
def test_references_without_end_are_refused(branches: int, cause: str) -> None:
    def fetch(number: int) -> tuple[Reference, list[int]]:
        is_leaf = branches > 1 and number > branches**2
        return Reference(str(number), ""), [] if is_leaf else [number * branches + n for n in range(1, branches + 1)]

    with pytest.raises(DataError, match=cause):
        collect_references([1], fetch)


def test_requests_to_apicurio_are_not_logged_with_the_password_of_the_url() -> None:
    logging.getLogger("httpx2").setLevel(logging.NOTSET)
    config: Any = parsed(ApicurioAvroConverter, {"apicurio.registry.url": "http://u:p@h"})
    ApicurioRegistry(config, "AVRO").close()
    assert not logging.getLogger("httpx2").isEnabledFor(logging.INFO)


@pytest.mark.parametrize(
    ("schema", "cause"),
    [
        ({"pattern": r"^\p{L}+$"}, "a pattern"),
        ({"type": "any"}, "UnknownType"),
        ({"minLength": "x"}, "TypeError"),
        ({"$ref": "#"}, "RecursionError"),
    ],
)
def test_a_schema_that_cannot_be_compared_fails_its_records_without_their_values(schema: Any, cause: str) -> None:
    record = "".join(("sec", "ret"))
    with pytest.raises(DataError, match=f"cannot validate a record against its JSON Schema: .*{cause}") as failed:
        RecordValidator(json.dumps(schema), ()).check(record)
    assert record not in "".join(traceback.format_exception(failed.value))


def test_a_referenced_schema_that_is_not_json_fails_its_records() -> None:
    with pytest.raises(DataError, match="cannot read a JSON Schema: JSONDecodeError"):
        RecordValidator("{}", (Reference("x.json", "{"),))


@pytest.mark.parametrize("message", [b"1e99999999999999999999999", b"1e-9999999999999999999999", b"NaN", b"-Infinity"])
def test_numbers_that_are_not_finite_or_too_large_fail_their_records(message: bytes) -> None:
    settings = JsonSchemaConverterConfig.parse({"schema.registry.url": "http://h"}).settings
    with pytest.raises(DataError, match=r"is not (JSON|finite)"):
        JsonReader(parse_json_schema(json.dumps(DECIMAL)), settings, None, None).read(message)


def test_a_schema_that_unfolds_without_end_is_refused() -> None:
    def twice(number: int) -> Any:
        return {"type": "object", "properties": {name: {"$ref": f"#/definitions/d{number}"} for name in "ab"}}

    schema = {**twice(0), "definitions": {f"d{n}": twice(n + 1) for n in range(60)} | {"d60": {"type": "integer"}}}
    settings = JsonSchemaConverterConfig.parse({"schema.registry.url": "http://h"}).settings
    with pytest.raises(DataError, match="it has more than 100000 types"):
        JsonReader(parse_json_schema(json.dumps(schema)), settings, None, None)


def test_records_that_unfold_without_end_are_refused() -> None:
    texts = ['{"type": "record", "name": "R0", "fields": []}']
    for number in range(60):
        fields = [{"name": name, "type": f"R{number}"} for name in "ab"]
        texts.append(json.dumps({"type": "record", "name": f"R{number + 1}", "fields": fields}))
    settings = AvroConverterConfig.parse({"schema.registry.url": "http://h"}).settings
    with pytest.raises(DataError, match="it has more than 100000 types"):
        AvroReader(parse_avro(texts[-1], tuple(texts[:-1])), settings, None)


def test_null_has_no_schema_in_a_batch_either() -> None:
    settings = AvroConverterConfig.parse({"schema.registry.url": "http://h"}).settings
    reader = AvroReader(parse_avro('["null", "string"]'), settings, None)
    data = [b"\0", b"\2\2a"]
    schemas, values = reader.read_all(data)
    assert isinstance(schemas, list)
    assert list(zip(schemas, values, strict=True)) == list(map(reader.read, data))
