"""Process that tries a Connector's transforms on records, within limits: `python -m penstock_runtime.trial < REQUEST`.

The request is `{"connector": RESOURCE, "records": TEXT}`. The operator starts the process, in its container.
"""

import io
import json
import sys
from collections import Counter
from contextlib import closing
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.trial.limits import MEMORY, has_room, limit_this_process

_INSTEAD: Final = "; use penstock transform"


def main() -> ExitCode:
    """Print the changes that each transform makes to the records, or an error on standard error."""
    limit_this_process()
    try:
        if not has_room():
            raise ConfigError(Problem("", f"the container has less than {MEMORY >> 20} MiB of memory left{_INSTEAD}"))
        _try(json.load(sys.stdin))
    except ConfigError as e:
        sys.stderr.write(f"{e}\n")
        return ExitCode.CONFIG_INVALID
    except MemoryError:
        sys.stderr.write(f"the trial needs more than {MEMORY >> 20} MiB of memory{_INSTEAD}\n")
        return ExitCode.FAILED
    return ExitCode.OK


def _try(request: dict[str, Any]) -> None:
    from penstock_model.resources.connector import Connector  # these are imported within the limits
    from penstock_runtime.plugins.discovery import Plugins
    from penstock_runtime.trial.samples import Reader, Schemas
    from penstock_runtime.trial.trial import Trial
    from penstock_runtime.trial.view import Text

    connector = Connector.draft(request["connector"])
    with closing(Trial.of(connector, Plugins.installed(), environment={})) as trial:
        for warning in trial.warnings:
            sys.stdout.write(f"warning: {warning}\n")
        view = Text(trial, sys.stdout)
        samples = Reader(trial.topic, trial.sink, Schemas.DETECT, bare=False).samples(io.StringIO(request["records"]))
        view.end(Counter(view.show(sample) for sample in samples))


if __name__ == "__main__":
    sys.exit(main())
