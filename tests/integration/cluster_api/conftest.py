"""What tests of the definitions on an API server share."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The first test waits for what the server is built from, once per machine.
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(1500))
