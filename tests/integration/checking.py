"""Whether records are there exactly once and in order; and the randomness of tests that kill."""

import os
import random
from collections.abc import Iterable

from .reading import Read


def seeded() -> random.Random:
    """Randomness whose seed is printed, and shown when a test fails; PENSTOCK_SEED sets it."""
    seed = int(os.environ.get("PENSTOCK_SEED") or int.from_bytes(os.urandom(4)))
    print(f"PENSTOCK_SEED={seed}")
    return random.Random(seed)


def numbers_by_partition(records: Iterable[Read]) -> dict[int, list[int]]:
    """The numbers in records of `numbers_source`, by partition, in the order of their offsets."""
    found: dict[int, list[int]] = {}
    for r in records:
        assert r.value is not None
        source, _, number = r.value.partition(b":")
        assert int(source) == r.partition
        found.setdefault(r.partition, []).append(int(number))
    return found


def assert_exactly_once(records: Iterable[Read], partitions: int) -> dict[int, int]:
    """Assert that each partition holds 0, 1, 2... in order, without gaps and duplicates. Returns how many each holds."""
    found = numbers_by_partition(records)
    assert set(found) == set(range(partitions))
    for partition, numbers in found.items():
        assert_counts_up(numbers, f"partition {partition}")
    return {p: len(n) for p, n in found.items()}


def assert_counts_up(numbers: list[int], where: str) -> None:
    """Assert that the numbers are 0, 1, 2...; the message counts duplicates and gaps and shows the first wrong place."""
    if numbers == list(range(len(numbers))):
        return
    wrong = next(i for i, n in enumerate(numbers) if n != i)
    around = numbers[max(0, wrong - 3) : wrong + 4]
    twice, lost = len(numbers) - len(set(numbers)), max(numbers) + 1 - len(set(numbers))
    raise AssertionError(f"{where}: {twice} twice, {lost} lost, row {wrong} is wrong: {around}")
