"""Tests of a sink whose task is killed while it stores records and their offsets."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.record import Record
from penstock.sink import TopicPartition
from penstock.testing._harness import sink_batch
from penstock.testing._killed_calls import killed, lines_of
from penstock.testing._sink_life import T0, T1, SinkLife, offset_of
from penstock.testing._sink_offsets import SinkOffsetsSuite

__all__ = ["SinkKillsSuite"]


class SinkKillsSuite(SinkOffsetsSuite):
    """Tests of a sink that is killed during a call. The attributes are those of `SinkSuite`."""

    def test_records_and_their_offsets_are_stored_together_wherever_it_is_killed(self, request: Any) -> None:
        """With exactly-once delivery, a process killed before any line of `write` or `commit` has stored both or neither."""
        lines = self._lines(request)
        if not lines:
            return
        # The number of stored records only grows from line to line, so lines between two equal numbers need no check.
        found = {line: self._found_if_killed(request, line) for line in (0, lines)}
        spans = [(0, lines)]
        while spans:
            first, last = spans.pop()
            middle = (first + last) // 2
            if first < middle and found[first] != found[last]:
                found[middle] = self._found_if_killed(request, middle)
                spans += [(first, middle), (middle, last)]

    def _lines(self, request: Any) -> int:
        """Return the number of executed lines that store the records, or 0 unless offsets are stored with them."""
        with self._life(request, T0, T1) as life:
            if life.frame:
                return 0
            lines = 0
            for _ in range(2):  # the first time may create objects in the external system
                before, batches = self._count(request), self._of_two_partitions(life)
                lines = lines_of(lambda: _deliver(life, batches), life.packages)  # noqa: B023 (is called immediately)
                if before is None or self._count(request) != before + len(self.records):
                    return 0  # deduplicated records do not show whether they are stored with their offsets
            return lines if life.reopen() else 0

    def _found_if_killed(self, request: Any, line: int) -> int:
        """Kill the task before a line; check that `open` skips exactly the stored records, and return their number."""
        before = self._count(request) or 0
        with self._life(request, T0, T1) as life:
            batches, begun = self._of_two_partitions(life), life.opened
            where = killed(lambda: _deliver(life, batches), life.packages, line)
            life.kill()
        with self._life(request, T0, T1) as after:
            at = {**begun, **after.opened}
        found = (self._count(request) or 0) - before
        passed = sum(offset_of(record) < at[of] for of, records in batches.items() for record in records)
        offsets = ", ".join(f"{of.topic}-{of.partition}: {offset}" for of, offset in at.items())
        assert found == passed, (
            f"after a kill before {where}, {found} of {len(self.records)} records are stored, but `open` returns offsets "
            f"({offsets}) after {passed} of them: store records and their offsets in one transaction"
        )
        return found

    def _of_two_partitions(self, life: SinkLife) -> Mapping[TopicPartition, Sequence[Record]]:
        """Return the records as the next records of two partitions."""
        half = len(self.records) // 2
        return {T0: life.following(self.records[:half]), T1: life.following(self.records[half:], T1)}


def _deliver(life: SinkLife, batches: Mapping[TopicPartition, Sequence[Record]]) -> None:
    life.write_batches([sink_batch(records) for records in batches.values()])
    life.commit()
