"""Make the redactor of a configuration before the configuration is used."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from penstock_model.connect.config_providers import own_providers
from penstock_model.connect.redaction import Redactor, client_secrets
from penstock_model.connect.variables import Secret, resolve

__all__ = ["mounted", "redactor_of"]

_LARGEST: Final = 1 << 20  # bytes; Kubernetes accepts no larger Secret


def redactor_of(config: Mapping[str, str], worker: Mapping[str, str], secrets_dir: Path | str | None) -> Redactor:
    """Return a redactor of all variables that Penstock's providers resolve, all mounted secrets, and literal passwords.

    The configuration may be invalid. Never raises.
    """
    providers = own_providers(worker)
    own, shared = (resolve(texts, secrets_dir, providers=providers) for texts in (config, worker))
    literal = [*client_secrets(own.values), *client_secrets(shared.values)]
    return Redactor([*own.secrets, *shared.secrets, *mounted(secrets_dir), *literal])


def mounted(secrets_dir: Path | str | None) -> Iterator[Secret]:
    """Yield all keys of all secrets in a directory, whether or not the configuration refers to them."""
    if secrets_dir is None:
        return
    for file in sorted(Path(secrets_dir).glob("*/*")):
        if file.name.startswith("."):  # Kubernetes' links to the files
            continue
        try:
            if file.is_file() and file.stat().st_size <= _LARGEST:
                value = file.read_bytes().decode().removesuffix("\n").removesuffix("\r")
                yield Secret(f"${{secret:{file.parent.name}:{file.name}}}", value)
        except (OSError, UnicodeDecodeError):
            continue
