"""The plans that were read take no more than so many bytes, and huge ones of one namespace are its own trouble."""

from penstock_operator.connector.observe.plan_cache import CachedPlan, PlanCache
from penstock_operator.key import Key


def of_size(size: int, uid: str = "u") -> dict[str, CachedPlan]:
    return {uid: CachedPlan(None, size)}


def test_what_is_kept_of_a_connector_takes_the_place_of_what_was_kept_before() -> None:
    cache, key = PlanCache(100), Key("shop", "a")
    for n in range(50):
        cache.keep(key, of_size(60, f"u{n}"))
        assert list(cache.of(key)) == [f"u{n}"]
    cache.drop(key)
    assert cache.of(key) == {}
    cache.keep(Key("shop", "b"), of_size(100))
    assert cache.of(Key("shop", "b")), "nothing of those before counts any more"


def test_huge_plans_of_one_namespace_put_no_other_s_out() -> None:
    cache, small = PlanCache(1_000), [Key(f"team-{n}", "c") for n in range(40)]
    for key in small:
        cache.keep(key, of_size(10))
    for n in range(100):
        cache.keep(Key("huge", f"c{n}"), of_size(300))
    assert all(cache.of(key) for key in small)
    held = [n for n in range(100) if cache.of(Key("huge", f"c{n}"))]
    assert held == [98, 99], "those that were looked at last"


def test_one_that_is_larger_than_all_room_is_not_kept() -> None:
    cache, key = PlanCache(100), Key("shop", "a")
    cache.keep(key, of_size(101))
    assert cache.of(key) == {}
    cache.keep(key, of_size(100))
    assert cache.of(key)
