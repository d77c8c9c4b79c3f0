"""Process 1 of a verifying container, which imports no code of the image: `python -m penstock_runtime.verify REQUEST`."""

import sys
from pathlib import Path

from penstock_model.contracts.definitions import definitions_line
from penstock_model.contracts.verification import VerificationRequest
from penstock_runtime.process import termination_message
from penstock_runtime.verify.guard import become_untouchable, end_all_others
from penstock_runtime.verify.watch import watch


def main(file: str) -> int:
    """Inspect the image in another process, write its findings, and return the exit code."""
    become_untouchable()
    request = VerificationRequest.from_json(Path(file).read_bytes())
    found = watch([sys.executable, "-m", "penstock_runtime.verify.inspection", file], request.seconds)
    end_all_others(found.group)  # otherwise a process of the image could write the message, too
    if found.definitions is not None:
        sys.stdout.write(f"\n{definitions_line(found.definitions)}\n")
        sys.stdout.flush()
    termination_message.write(found.message)
    sys.stdout.write(f"{found.message.message}\n")
    return found.message.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
