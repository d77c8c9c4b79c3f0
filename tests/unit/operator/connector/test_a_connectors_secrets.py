"""References to Secrets: how many are looked at, and what a text full of them costs."""

from penstock_operator.connector.secrets import references, too_many, with_namespace

from .world import World


def naming(secrets: int) -> dict[str, str]:
    return {"a": "".join(f"${{secret:s{n}:key}}" for n in range(secrets)), "b": "${secret:s0:other}"}


def test_a_configuration_that_names_more_secrets_than_are_looked_at_is_refused() -> None:
    assert too_many(naming(256)) == []
    assert too_many(naming(257)) == ["config names 257 Secrets, and 256 are the most; have more keys in fewer Secrets"]
    world = World(spec={"config": naming(257)})
    world.settle()
    assert world.pods == {}
    assert "names 257 Secrets" in world.condition("ConfigValid")


def test_a_text_full_of_beginnings_is_read_in_time() -> None:
    text = "${secret:a:" * 100_000 + "${secret:b:key}"  # in the square of its length this would take minutes
    assert with_namespace({"a": text}) == []
    assert len(references({"a": text}, {})) <= 1


def test_names_and_keys_as_long_as_kubernetes_has_them_are_found() -> None:
    name, key = "n" * 253, "k" * 253
    assert [(r.name, r.key) for r in references({"a": f"${{secret:{name}:{key}}}"}, {})] == [(name, key)]
