"""A trial in a container starts only where its memory is left."""

from pathlib import Path

import pytest

from penstock_runtime.process import cgroup


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"memory.max": "1000", "memory.current": "700", "memory.stat": "anon 500\ninactive_file 150"}, 450),
        ({"memory.max": "1000", "memory.current": "700"}, 300),
        ({"memory.max": "max", "memory.current": "700"}, None),
        ({}, None),
        (
            {
                "memory/memory.limit_in_bytes": "1000",
                "memory/memory.usage_in_bytes": "700",
                "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 150",
            },
            450,
        ),
    ],
)
def test_the_memory_that_is_left_is_that_of_the_limit_without_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int | None
) -> None:
    monkeypatch.setattr(cgroup, "_OWN", tmp_path / "none")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert cgroup.memory_room(tmp_path) == expected
