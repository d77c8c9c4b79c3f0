"""Memory of a backlog is returned once the backlog is over."""

from penstock_runtime.pipeline.freed_memory import FreedMemory


def test_memory_is_returned_once_after_a_backlog_and_never_for_few_records() -> None:
    given_back: list[str] = []
    memory = FreedMemory(lambda: given_back.append("trimmed"))
    for _ in range(100):
        memory.moved(10_000)
        memory.give_back()
    assert given_back == []
    memory.moved(64 << 20)
    memory.give_back()
    memory.give_back()
    assert given_back == ["trimmed"]
