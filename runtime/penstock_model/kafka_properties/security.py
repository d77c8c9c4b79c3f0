"""Translation of security properties of Java clients to librdkafka's: key stores to PEM, JAAS to user and password."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from penstock import Problem
from penstock.config import nearest
from penstock_model.kafka_properties import librdkafka

__all__ = ["SECRET_NAMES", "jaas_secrets", "translate"]

SECRET_NAMES: Final = frozenset(
    (
        "sasl.jaas.config",
        "sasl.password",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.config",
    )
)
"""Properties whose values are hidden from messages."""

_NO_MEANING: Final[Mapping[str, str]] = {
    "sasl.client.callback.handler.class": "it names a Java class",
    "sasl.login.class": "it names a Java class",
    "sasl.kerberos.kinit.cmd": "clients run no programs; set sasl.kerberos.keytab to a keytab file",
    "sasl.kerberos.ticket.renew.jitter": "sasl.kerberos.min.time.before.relogin determines when tickets are renewed",
    "sasl.kerberos.ticket.renew.window.factor": "sasl.kerberos.min.time.before.relogin determines when tickets are renewed",
    "security.providers": "it names Java classes",
    "ssl.enabled.protocols": "OpenSSL negotiates the newest protocol that the broker supports",
    "ssl.engine.factory.class": "it names a Java class",
    "ssl.engine.id": "it would load third-party code into the client",
    "ssl.engine.location": "it would load third-party code into the client",
    "ssl.keymanager.algorithm": "it is a setting of the JVM",
    "ssl.protocol": "OpenSSL negotiates the newest protocol that the broker supports",
    "ssl.provider": "it is a setting of the JVM",
    "ssl.providers": "it would load third-party code into the client",
    "ssl.secure.random.implementation": "it is a setting of the JVM",
    "ssl.trustmanager.algorithm": "it is a setting of the JVM",
}
_INLINE_PEM: Final[Mapping[str, str]] = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_OAUTH_HANDLER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_JAAS: Final[Mapping[str, Mapping[str, str]]] = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
    "Krb5LoginModule": {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"},
}
_JAAS_LINE: Final = re.compile(r"\s*([\w.$]+)\s+(?i:required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL)
_OPTION: Final = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([^\s;"']+))""")

ClientProperties = Mapping[str, tuple[str, str]]
"""Values by property name, each with the full name as the user wrote it."""


def translate(
    written: ClientProperties, properties: dict[str, str], problems: list[Problem], meaningless: list[Problem]
) -> None:
    """Translate properties that start with `ssl.`, `sasl.` or `security.`.

    Args:
        written: properties as the user wrote them.
        properties: receives librdkafka's properties.
        problems: receives problems of invalid values. Messages never show a value.
        meaningless: receives problems of properties without a meaning in Penstock.
    """
    names = librdkafka.names("admin")
    for name, (text, where) in written.items():
        if name in _NO_MEANING:
            meaningless.append(Problem(where, f"has no meaning in Penstock: {_NO_MEANING[name]}"))
        elif name == "sasl.jaas.config":
            _jaas(text, where, properties, problems)
        elif name == "sasl.login.callback.handler.class":
            if not text.endswith("OAuthBearerLoginCallbackHandler"):
                meaningless.append(
                    Problem(
                        where, f"names a Java class that has no counterpart in Penstock; only {_OAUTH_HANDLER} has one"
                    )
                )
            properties["sasl.oauthbearer.method"] = "oidc"
        elif name in _INLINE_PEM:
            properties[_INLINE_PEM[name]] = text
        elif name.startswith(("ssl.truststore.", "ssl.keystore.")):
            continue  # these depend on each other: see _truststore and _keystore
        elif name == "ssl.endpoint.identification.algorithm":
            properties[name] = text.lower() or "none"
        elif name == "ssl.cipher.suites" and "_" in text:
            problems.append(
                Problem(where, "has Java's cipher names; use OpenSSL's names (ECDHE-RSA-AES256-GCM-SHA384:...)")
            )
        elif (target := librdkafka.ALIASES.get(name, name)) in names:
            properties[target] = text
        else:
            near = nearest(name, names)
            problems.append(Problem(where, "is unknown" + (f"; did you mean {near}?" if near else "")))
    problems.extend(_truststore(written, properties))
    problems.extend(_keystore(written, properties))


def jaas_secrets(text: str) -> Iterator[str]:
    """Yield passwords and other secrets in a `sasl.jaas.config`."""
    for option, value in _options(text):
        if "password" in option.lower() or "secret" in option.lower():
            yield value


def _options(text: str) -> Iterator[tuple[str, str]]:
    for name, double, single, bare in _OPTION.findall(text):
        yield name, re.sub(r"\\(.)", r"\1", double) if double else single or bare


def _jaas(text: str, where: str, properties: dict[str, str], problems: list[Problem]) -> None:
    line = _JAAS_LINE.fullmatch(text)
    module = line[1].rpartition(".")[2] if line else ""
    if line is None or module not in _JAAS:
        problems.append(
            Problem(where, f"must be '<class> required <name>=\"<value>\" ...;' with one of {', '.join(_JAAS)}")
        )
        return
    wanted = _JAAS[module]
    for option, value in _options(line[2]):
        if option in wanted:
            properties[wanted[option]] = value
        elif module == "Krb5LoginModule" and option == "serviceName":
            properties["sasl.kerberos.service.name"] = value
    if module == "OAuthBearerLoginModule" and "sasl.oauthbearer.client.id" in properties:
        properties["sasl.oauthbearer.method"] = "oidc"
    missing = [o for o, target in wanted.items() if target not in properties and o in ("username", "password")]
    if missing:
        problems.append(Problem(where, f'{" and ".join(missing)} must be set, for example {missing[0]}="..."'))


def _truststore(written: ClientProperties, properties: dict[str, str]) -> Iterator[Problem]:
    location, where = written.get("ssl.truststore.location", ("", ""))
    kind, _ = written.get("ssl.truststore.type", ("", ""))
    if location and (kind.upper() == "PEM" or (not kind and location.endswith((".pem", ".crt", ".cer")))):
        properties["ssl.ca.location"] = location
    elif location:
        yield Problem(
            where,
            f"is a Java key store ({kind or 'JKS'}), which librdkafka cannot read; export its certificates as PEM "
            f"(keytool -exportcert -rfc -keystore ...) and set ssl.truststore.type=PEM",
        )


def _keystore(written: ClientProperties, properties: dict[str, str]) -> Iterator[Problem]:
    location, where = written.get("ssl.keystore.location", ("", ""))
    kind = written.get("ssl.keystore.type", ("", ""))[0].upper()
    if not location:
        return
    if kind == "PEM" or (not kind and location.endswith(".pem")):
        # One file with certificates and key, as in Java. OpenSSL reads both from it.
        properties["ssl.certificate.location"] = properties["ssl.key.location"] = location
    elif kind == "PKCS12" or (not kind and location.endswith((".p12", ".pfx"))):
        properties["ssl.keystore.location"] = location
        if "ssl.keystore.password" in written:
            properties["ssl.keystore.password"] = written["ssl.keystore.password"][0]
    else:
        yield Problem(
            where,
            f"is a Java key store ({kind or 'JKS'}), which librdkafka cannot read; convert it "
            f"(keytool -importkeystore -deststoretype pkcs12 ...) and set ssl.keystore.type=PKCS12",
        )
