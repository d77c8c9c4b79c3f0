"""Variables in properties: `${secret:..}`, `${env:..}`, `${file:..}`, `${dir:..}`. The task resolves them.

    ${secret:<name>:<key>}   the file <secrets directory>/<name>/<key>
    ${env:<name>}            an environment variable
    ${file:<path>:<key>}     a key of a Java properties file
    ${dir:<path>:<file>}     the content of a file; ${directory:..} is the same
    ${<name>:<path>:<key>}   the value that a config provider of the worker configuration returns; the path may be omitted

A value may contain several variables, but not nested ones. `${name}` without a colon is text. A variable that
cannot be resolved is a problem, while Kafka Connect keeps it as text. Resolved secrets stay in memory: no file, record or
message contains them.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from penstock import ConfigError, Problem
from penstock.config import nearest
from penstock_java_compat.properties import parse_properties

__all__ = [
    "NO_PROVIDERS",
    "SECRET_REFERENCE",
    "Provider",
    "ProviderTable",
    "Resolved",
    "Secret",
    "has_variable",
    "misspelt_variables",
    "provider_of",
    "providers_in",
    "resolve",
    "unknown_providers",
]

Provider: TypeAlias = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Function that returns the values of those keys that exist in a path. Raises ValueError if the provider is unusable."""
ProviderTable: TypeAlias = Mapping[str, "str | Provider"]
"""Config providers by name; a string is the kind of a provider that Penstock implements."""
NO_PROVIDERS: Final[ProviderTable] = MappingProxyType({})

SECRET_REFERENCE: Final = re.compile(r"\$\{secret:([^:}$\s]{1,512}):([^}$]{1,512})\}")
"""`${secret:<name>:<key>}`. Names and keys are bounded and contain no $; otherwise, text with many `${secret:` would take
quadratic time."""
_VARIABLE: Final = re.compile(r"\$\{([^}:\s]+):([^}]*)\}")
_PROVIDERS: Final = ("secret", "env", "file", "dir", "directory")
_MISSPELT: Final = re.compile(rf"\$\{{?(?:{'|'.join(_PROVIDERS)})[:.}}]")
_MAX_NAMES: Final = 12
_TOO_LARGE: Final = 1 << 20  # bytes; the maximum size of a Secret in Kubernetes


@dataclass(frozen=True, slots=True)
class Secret:
    """Resolved variable: its value, and the reference that replaces it in messages."""

    reference: str
    value: str

    def __repr__(self) -> str:
        return f"Secret({self.reference})"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Properties with their variables resolved.

    Attributes:
        values: all properties. Variables that cannot be resolved remain.
        problems: one for each variable that cannot be resolved.
        secrets: the resolved variables, without duplicates.
    """

    values: Mapping[str, str]
    problems: tuple[Problem, ...]
    secrets: tuple[Secret, ...]

    def __repr__(self) -> str:
        return f"Resolved({len(self.values)} properties, {self.secrets})"

    def checked(self) -> Mapping[str, str]:
        """Return the values.

        Raises:
            ConfigError: a variable cannot be resolved.
        """
        if self.problems:
            raise ConfigError(self.problems)
        return self.values


def resolve(
    properties: Mapping[str, str],
    secrets_dir: Path | str | None,
    environment: Mapping[str, str] | None = None,
    known: Iterable[Secret] = (),
    providers: ProviderTable = NO_PROVIDERS,
) -> Resolved:
    """Resolve every variable in `properties`.

    Args:
        properties: properties by full name, which the problems show.
        secrets_dir: folder with mounted Secrets; None if there are none.
        environment: variables for `${env:..}`; None: those of the process.
        known: variables that have been resolved, and are not looked up again.
        providers: config providers of the worker configuration.

    Raises:
        ConnectError: a config provider fails, or does not respond.
    """
    values: dict[str, str] = {}
    problems: list[Problem] = []
    secrets = {secret.reference: secret for secret in known}
    look_up = _LookUp(
        None if secrets_dir is None else Path(secrets_dir),
        os.environ if environment is None else environment,
        providers,
        _wanted(properties.values(), secrets) if providers else {},
    )
    for name, text in properties.items():
        values[name] = _replaced(name, text, look_up, secrets, problems)
    return Resolved(values, tuple(problems), tuple(secrets.values()))


def provider_of(reference: str) -> str:
    """Return the name of the provider in a variable."""
    match = _VARIABLE.match(reference)
    return match[1] if match else ""


def providers_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of the providers in all variables of these texts."""
    return frozenset(match[1] for text in texts for match in _VARIABLE.finditer(text))


def has_variable(text: str) -> bool:
    """Return whether a value contains a variable, so that only a pod knows it."""
    return _VARIABLE.search(text) is not None


def unknown_providers(properties: Mapping[str, str], providers: Iterable[str] = ()) -> Iterator[Problem]:
    """Yield a problem for each variable that no pod can resolve, because of its provider or its form.

    Args:
        properties: properties by name.
        providers: names of config providers of the worker configuration.
    """
    known = (*_PROVIDERS, *providers)
    for name, text in properties.items():
        for match in _VARIABLE.finditer(text):
            if match[1] not in known:
                hint = _hint(match[1], known)
                yield Problem(name, f"{match[0]} cannot be resolved: there is no provider {match[1]}; {hint}")
            elif match[1] == "secret" and not all(match[2].partition(":")):
                yield Problem(name, f"{match[0]} cannot be resolved: write ${{secret:<name>:<key>}}")
            elif match[1] in ("file", "dir", "directory") and ":" not in match[2]:
                key = "key" if match[1] == "file" else "file"
                yield Problem(name, f"{match[0]} cannot be resolved: write ${{{match[1]}:<path>:<{key}>}}")


def _wanted(texts: Iterable[str], known: Mapping[str, Secret]) -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the keys of each provider and path: a provider is called once for all keys of a path, as in Kafka Connect."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for match in (m for text in texts for m in _VARIABLE.finditer(text) if m[0] not in known):
        path, key = _path_and_key(match[2])
        found[match[1], path][key] = None
    return {of: tuple(keys) for of, keys in found.items()}


def _path_and_key(rest: str) -> tuple[str, str]:
    """Split a path and a key: the path ends at the first colon; without one, it is empty."""
    path, colon, key = rest.partition(":")
    return (path, key) if colon else ("", rest)


def misspelt_variables(properties: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each value with text that looks like a misspelled variable: `${env.HOME}`, `${secret:a:b`."""
    for name, text in properties.items():
        if match := _MISSPELT.search(_VARIABLE.sub("", text)):
            forms = {"env": "${env:<name>}", "secret": "${secret:<name>:<key>}"}
            provider = match[0].strip("${:.}")
            form = forms.get(provider, f"${{{provider}:<path>:<name>}}")
            yield Problem(name, f"contains text that looks like a variable but is not one; write {form}")


def _replaced(name: str, text: str, look_up: "_LookUp", secrets: dict[str, Secret], problems: list[Problem]) -> str:
    def value(match: re.Match[str]) -> str:
        reference = match[0]
        if reference not in secrets:
            try:
                secrets[reference] = Secret(reference, look_up(match[1], match[2]))
            except ValueError as e:
                problems.append(Problem(name, f"{reference} cannot be resolved: {e}"))
                return reference
        return secrets[reference].value

    return _VARIABLE.sub(value, text) if "${" in text else text


class _LookUp:
    """Resolver of variables. Raises ValueError with a reason that never contains a value."""

    def __init__(
        self,
        secrets_dir: Path | None,
        environment: Mapping[str, str],
        providers: ProviderTable,
        wanted: Mapping[tuple[str, str], Sequence[str]],
    ) -> None:
        self._secrets_dir = secrets_dir
        self._environment = environment
        self._files: dict[str, Mapping[str, str]] = {}
        self._wanted = wanted
        self._found: dict[tuple[str, str], Mapping[str, str]] = {}
        own: Mapping[str, Callable[[str], str]] = {
            "secret": self._secret,
            "env": self._env,
            "file": self._file,
            "dir": self._dir,
            "directory": self._dir,
        }
        named = {name: own[of] for name, of in providers.items() if isinstance(of, str)}
        self._own = {**own, **named}
        self._others = {name: of for name, of in providers.items() if not isinstance(of, str)}

    def __call__(self, provider: str, rest: str) -> str:
        if provider in self._others:
            return self._other(provider, rest)
        if provider not in self._own:
            raise ValueError(f"there is no provider {provider}; {_hint(provider, (*self._own, *self._others))}")
        return self._own[provider](rest)

    def _other(self, provider: str, rest: str) -> str:
        path, key = _path_and_key(rest)
        if (provider, path) not in self._found:
            self._found[provider, path] = self._others[provider](path, self._wanted[provider, path])
        values = self._found[provider, path]
        if key not in values:  # do not list the other keys: they may belong to others
            raise ValueError(f"{provider} has no key {key}" + (f" in {path}" if path else ""))
        return values[key]

    def _secret(self, rest: str) -> str:
        name, colon, key = rest.partition(":")
        if not (name and colon and key):
            raise ValueError("write ${secret:<name>:<key>}")
        if self._secrets_dir is None:
            raise ValueError("no directory of secrets was given (--secrets)")
        for part in (name, key):
            _inside(part)
        if not (self._secrets_dir / name).is_dir():
            raise ValueError(
                f"there is no secret {name} in {self._secrets_dir}; {_hint(name, _names(self._secrets_dir))}"
            )
        keys = _names(self._secrets_dir / name)
        return _content(self._secrets_dir / name / key, f"secret {name} has no key {key}; {_hint(key, keys)}")

    def _env(self, rest: str) -> str:
        name = rest.removeprefix(":")  # Kafka's ${env::NAME} has an empty path
        if name not in self._environment:
            near = nearest(name, self._environment)
            raise ValueError(
                f"the environment variable {name} is not set" + (f"; did you mean {near}?" if near else "")
            )
        return self._environment[name]

    def _file(self, rest: str) -> str:
        path, colon, key = rest.rpartition(":")
        if not colon:
            raise ValueError("write ${file:<path>:<key>}")
        if path not in self._files:
            try:
                self._files[path] = parse_properties(_content(Path(path), "there is no such file", stripped=False))
            except ValueError as e:
                raise ValueError(f"{path}: {e}") from None
        if key not in self._files[path]:
            # Do not list the keys: if the file is not a properties file, they are its content.
            near = nearest(key, [k for k, text in self._files[path].items() if text])
            raise ValueError(f"{path} has no key {key}" + (f"; did you mean {near}?" if near else ""))
        return self._files[path][key]

    def _dir(self, rest: str) -> str:
        path, colon, name = rest.rpartition(":")
        if not colon:
            raise ValueError("write ${dir:<path>:<file>}")
        _inside(name)
        return _content(Path(path) / name, f"{path} has no file {name}")


def _hint(name: str, known: Iterable[str]) -> str:
    """Suggest a name. The hint shows only names, never values."""
    names = list(known)
    near = nearest(name, names)
    return f"did you mean {near}?" if near else f"available: {', '.join(names[:_MAX_NAMES]) or 'none'}"


def _names(directory: Path) -> list[str]:
    try:
        return sorted(p.name for p in directory.iterdir() if not p.name.startswith("."))
    except OSError:
        return []


def _inside(part: str) -> None:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise ValueError(f"{part or 'an empty string'} is not a valid file name")


def _content(path: Path, absent: str, *, stripped: bool = True) -> str:
    """Return the text of a file, without the final line break that editors add."""
    try:
        with path.open("rb") as file:
            data = file.read(_TOO_LARGE + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(absent) from None
    except OSError as e:
        raise ValueError(f"{path} cannot be read: {e.strerror}") from None
    if len(data) > _TOO_LARGE:
        raise ValueError(f"{path} is larger than 1 MiB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None
    return re.sub(r"\r?\n\Z", "", text) if stripped else text
