"""A backlog is shared out evenly, and what is cut keeps its order."""

from itertools import chain

import pytest

from penstock import Limits, TopicPartition
from penstock_runtime.pipeline.splits import Range, bounded, cut, dealt, dealt_evenly, reached

A, B, C = (TopicPartition("t", n) for n in range(3))


def sizes(groups: list[list[Range]]) -> list[int]:
    return [sum(end - start for _, start, end in group) for group in groups]


class TestBounded:
    def test_a_batch_holds_no_more_records_than_its_limit_shared_by_its_partitions(self) -> None:
        found = bounded([(A, 5, 1_000), (B, 0, 10), (C, 0, 1_000)], Limits(300, 1 << 20), record_bytes=10.0)
        assert found == [(A, 5, 105), (B, 0, 10), (C, 0, 100)]

    def test_batch_of_large_records_stays_within_its_bytes(self) -> None:
        assert bounded([(A, 0, 10_000)], Limits(5_000, 1 << 20), record_bytes=1 << 14) == [(A, 0, 64)]

    def test_record_larger_than_the_limits_forms_a_batch_of_one(self) -> None:
        assert bounded([(A, 7, 10)], Limits(5_000, 1_000), record_bytes=1e9) == [(A, 7, 8)]

    def test_records_without_content_are_bounded_by_their_number(self) -> None:
        assert bounded([(A, 0, 10_000)], Limits(5_000, 1 << 20), record_bytes=0.0) == [(A, 0, 5_000)]

    def test_batch_takes_the_first_of_too_many_partitions(self) -> None:
        found = bounded([(A, 0, 900), (B, 0, 900), (C, 0, 900)], Limits(1_000, 1 << 20), record_bytes=1.0, least=500)
        assert found == [(A, 0, 500), (B, 0, 500)]


class TestReached:
    def test_completed_parts_count(self) -> None:
        groups = [[(A, 0, 50), (B, 5, 10)], [(B, 10, 20)]]
        assert reached(groups, [{A: 50, B: 10}, {B: 20}]) == ([0, 1], {A: 50, B: 20})

    def test_group_after_a_gap_does_not_count_at_all(self) -> None:
        groups = [[(A, 0, 50)], [(A, 50, 100), (B, 0, 10)], [(B, 10, 20)], [(C, 0, 5)]]
        assert reached(groups, [{A: 40}, {A: 100, B: 10}, {B: 20}, {C: 5}]) == ([0, 3], {A: 40, C: 5})

    def test_range_that_was_not_begun_is_no_gap_for_other_groups(self) -> None:
        groups = [[(A, 0, 50), (B, 0, 50)], [(B, 50, 90), (C, 0, 5)]]
        assert reached(groups, [{A: 30}, {}]) == ([0, 1], {A: 30})
        assert reached(groups, [{A: 30}, {B: 90}]) == ([0], {A: 30})


class TestDealt:
    def test_partitions_stay_whole_and_groups_are_of_about_the_same_size(self) -> None:
        ranges = [(A, 0, 100), (B, 0, 60), (C, 10, 60)]
        groups = dealt(ranges, 2)
        assert sorted(chain.from_iterable(groups)) == sorted(ranges)
        assert sizes(groups) == [100, 110]

    def test_there_are_no_groups_without_work(self) -> None:
        assert dealt([(A, 0, 5)], 4) == [[(A, 0, 5)]]


class TestCut:
    def test_one_partition_is_cut_into_parts_that_follow_each_other(self) -> None:
        assert cut([(A, 10, 110)], 2, least=1) == [[(A, 10, 60)], [(A, 60, 110)]]

    def test_only_the_ranges_at_a_border_are_cut(self) -> None:
        assert cut([(A, 0, 30), (B, 0, 50), (C, 0, 20)], 2, least=1) == [
            [(A, 0, 30), (B, 0, 20)],
            [(B, 20, 50), (C, 0, 20)],
        ]

    def test_ranges_are_not_split_below_the_smallest_part(self) -> None:
        assert cut([(A, 0, 100)], 4, least=60) == [[(A, 0, 100)]]
        assert len(cut([(A, 0, 120)], 4, least=60)) == 2

    @pytest.mark.parametrize("lengths", [[1], [7, 1, 1], [3, 3, 3], [1] * 11, [100, 1], [1, 100]])
    @pytest.mark.parametrize("groups", [1, 2, 3, 5])
    def test_every_offset_is_in_one_part_and_their_order_stays(self, lengths: list[int], groups: int) -> None:
        ranges = [(TopicPartition("t", n), 5, 5 + length) for n, length in enumerate(lengths)]
        found = cut(ranges, groups, least=1)
        offsets = [(of, o) for group in found for of, start, end in group for o in range(start, end)]
        assert offsets == [(of, o) for of, start, end in ranges for o in range(start, end)]
        assert 1 <= len(found) <= groups
        assert all(sizes(found))
        assert max(sizes(found)) <= -(-sum(lengths) // len(found)) or len(found) < groups


@pytest.mark.parametrize(("parts", "expected"), [(1, [[0]]), (2, [[0], [1]]), (5, [[0, 2, 4], [1, 3]])])
def test_parts_of_a_source_are_distributed_by_number(parts: int, expected: list[list[int]]) -> None:
    assert [list(g) for g in dealt_evenly(range(parts), 2)] == expected
