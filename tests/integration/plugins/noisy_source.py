"""A source that says things on standard output and standard error, as plugins do."""

import sys
import warnings

from penstock import PollingSource, Source
from penstock_plugins.connectors.file.source import FileSourceConfig, FileStreamSource


class Noisy(FileStreamSource):
    def source(self, config: FileSourceConfig) -> Source | PollingSource:
        print("a plain word")
        warnings.warn("old hat", DeprecationWarning, stacklevel=1)
        sys.stderr.write("half a line")
        return super().source(config)
