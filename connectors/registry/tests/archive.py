"""The archive of Apicurio's schema registry, from Maven Central."""

import hashlib
from pathlib import Path
from typing import Final

from penstock_runtime.java_home import find_java
from penstock_runtime.maven import cache_folder, exclusively, fetch_jars

__all__ = ["apicurio"]

_NAME: Final = "apicurio-registry-app"
_VERSION: Final = "2.6.13.Final"
"""The last version that runs on Java 17."""
_SHA256: Final = "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba"


def apicurio() -> Path:
    """The archive of Apicurio's schema registry (142 MB), fetched once."""
    folder = cache_folder() / "jars" / f"{_NAME}-{_VERSION}"
    archive = folder / "libs" / f"{_NAME}-{_VERSION}-all.tar.gz"
    jar = (
        f'<dependency org="io.apicurio" name="{_NAME}" rev="{_VERSION}" transitive="false" conf="default->default">'
        f'<artifact name="{_NAME}" type="tar.gz" ext="tar.gz" m:classifier="all"/></dependency>'
    )

    def wrong(libs: Path) -> str | None:
        with (libs / archive.name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return None if found == _SHA256 else f"{archive.name} has the SHA-256 {found}, not {_SHA256}"

    if not archive.exists():
        with exclusively(folder):
            if not archive.exists():
                fetch_jars(find_java(), [jar], archive.parent, what=f"{_NAME} {_VERSION}", check=wrong)
    return archive
