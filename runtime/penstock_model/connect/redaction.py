"""Redaction of secrets in all text that users see: logs, errors, reports, listings.

`penstock_web/shown_config.py` chooses the values of a configuration that the console shows.
"""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from penstock import Problem
from penstock.config import Config
from penstock_model.connect.config_providers import provider_secrets
from penstock_model.connect.variables import Secret
from penstock_model.kafka_properties.security import SECRET_NAMES, jaas_secrets

__all__ = ["HIDDEN", "Redactor", "client_secrets", "literal_secrets"]

HIDDEN: Final = "[hidden]"
_SHORT: Final = 4
"""Minimum characters of a secret that is replaced within text. Shorter values occur in text by chance; they are replaced
only if they are the whole text."""
_BASE64_SHORT: Final = 8
_LINE_SHORT: Final = 16
_WORD_SHORT: Final = 2
_SHOWN: Final = re.compile(r"(\$\{[^}]*\}|\[hidden\])")
"""Replacements of secrets, which are not redacted again."""
_VARIABLE: Final = re.compile(r"\$\{[^}:]+:[^}]+\}")
"""Reference to a secret. A value that is a reference was not resolved, and is no secret."""


class Redactor:
    """Redactor that replaces secrets with their references. Immutable; safe for use by many threads."""

    def __init__(
        self, secrets: Iterable[Secret] = (), names: Iterable[str] = (), texts: Mapping[str, str] | None = None
    ) -> None:
        """Initialize with secrets, and names in which nothing is replaced.

        Args:
            secrets: those with the reference `[hidden]` are literals of the configuration (`literal_secrets`).
            names: names of classes and properties, which stay readable if a password is an ordinary word.
            texts: the properties as written. Problems of a property with a secret show no word of that secret.
        """
        self._secrets = tuple(secrets)
        self._names = tuple(names)
        self._texts = {} if texts is None else texts
        self._whole = {s.value: s.reference for s in reversed(self._secrets) if s.value}
        forms = {f: s.reference for s in reversed(self._secrets) if len(s.value) >= _SHORT for f in _forms(s.value)}
        self._forms = forms
        kept = {
            part for name in self._names for part in _parts(name) if part not in forms and any(f in part for f in forms)
        }
        # Longest first: a secret may be a prefix of another secret or of a name, and a name a prefix of a secret.
        words = sorted((*kept, *forms), key=len, reverse=True)
        literals = (rf"\b{re.escape(w)}\b" if w in kept else re.escape(w) for w in words)
        self._pattern = re.compile("|".join(literals)) if forms else None

    def with_secrets(self, secrets: Iterable[Secret]) -> "Redactor":
        """Return a redactor that replaces these secrets too."""
        return Redactor((*self._secrets, *secrets), self._names, self._texts)

    def __call__(self, text: str) -> str:
        """Return the text with every secret replaced, including encoded forms (URL, JSON, Base64)."""
        if text in self._whole:
            return self._whole[text]
        return self._pattern.sub(lambda m: self._forms.get(m[0], m[0]), text) if self._pattern else text

    def problem(self, problem: Problem) -> Problem:
        """Return the problem with its message redacted."""
        message = self(self._short_values(problem.message))
        return Problem(problem.property, self._without_words(message, self._values_of(problem.property)))

    def _values_of(self, name: str) -> list[str]:
        """Return the secrets that a property holds, as variables or as its literal value."""
        text = self._texts.get(name, "")
        return [
            s.value
            for s in self._secrets
            if (s.value == text.strip() if s.reference == HIDDEN else s.reference in text)
        ]

    def _without_words(self, message: str, values: Iterable[str]) -> str:
        """Hide these values and their words, in any case: a plugin may quote part of a value, or a short value.

        Kafka Connect 4.4.0 hides such a message completely; here, its reason remains.
        """
        if not (values := tuple(values)):
            return message
        words = {
            w for v in values for w in (v, *(p for p in re.split(r"\W+", v) if len(p) >= _WORD_SHORT)) if w.strip()
        }
        words -= {part for name in self._names for part in _parts(name)}
        if not words:
            return message
        ordered = sorted(words, key=len, reverse=True)
        found = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)", re.IGNORECASE)
        return "".join(s if _SHOWN.fullmatch(s) else found.sub(HIDDEN, s) for s in _SHOWN.split(message))

    def _short_values(self, message: str) -> str:
        """Replace short secrets where Connect's messages show the whole value of a property."""
        return re.sub(
            r"(Invalid value )(.{1,3})(?= for configuration )", lambda m: m[1] + self._whole.get(m[2], m[2]), message
        )


def literal_secrets(config: type[Config], texts: Mapping[str, str]) -> Iterator[Secret]:
    """Yield literal values of the password properties of a configuration."""
    yield from (Secret(HIDDEN, text) for text in config.passwords(texts).values() if not _VARIABLE.fullmatch(text))


def client_secrets(properties: Mapping[str, str]) -> Iterator[Secret]:
    """Yield literal secrets in client properties, under any prefix, and in parameters of config providers."""
    yield from (Secret(HIDDEN, value) for value in provider_secrets(properties))
    for name, text in properties.items():
        known = next((s for s in SECRET_NAMES if name == s or name.endswith("." + s)), None)
        if known == "sasl.jaas.config":
            yield from (Secret(HIDDEN, value) for value in jaas_secrets(text))
        elif known is not None and text and not _VARIABLE.fullmatch(text.strip()):
            yield Secret(HIDDEN, text)


def _parts(name: str) -> Iterator[str]:
    """Yield a dotted name, the packages that contain it, and the words between its dots."""
    words = name.split(".")
    yield from (".".join(words[:n]) for n in range(1, len(words) + 1))
    yield from words[1:]


def _forms(value: str) -> Iterator[str]:
    """Yield the value in each encoding in which text may contain it."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    for safe in ("", "/"):
        quoted = urllib.parse.quote(value, safe=safe)
        yield quoted
        yield re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), quoted)
        yield urllib.parse.quote_plus(value, safe=safe)
    yield from _base64_forms(value.encode())
    lines = value.splitlines()
    if len(lines) > 1:  # keys and certificates are logged line by line
        yield from (line for line in lines if len(line) >= _LINE_SHORT and not line.startswith("-----"))


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield the Base64 of the value, including as part of longer text (`user:password` in basic authentication)."""
    for ahead in range(3):
        encoded = base64.b64encode(bytes(ahead) + data).decode()
        first = (0, 2, 3)[ahead]  # characters before this one depend on bytes before the value
        last = len(encoded) - (0, 3, 2)[(ahead + len(data)) % 3]  # characters from here on depend on bytes after it
        inner = encoded[first:last]
        if len(inner) >= _BASE64_SHORT:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
