"""Java's patterns and replacements; what the conformance cases have not got."""

import pytest
from tests.words import words

from penstock import ConfigError, Record, RecordBatch
from penstock_java_compat.regex import PatternError, compile_java
from penstock_plugins.predicates import RecordIsTombstone, TopicNameMatches
from penstock_plugins.transforms.regex_router import RegexRouter


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"(?i)straße", "STRAßE", "STRASSE"),
        (r"(?x) a b # c", "ab", "a b"),
        (r"a(?x: b )c", "abc", "a b c"),
        (r"[a-z&&[^b-y]]+", "az", "b"),
        (r"[^a&&a]", "b", "a"),
        (r"\w+", "a_1", "é"),
        (r"(?U)\w+", "é", "-"),
        (r"\p{Punct}+", "!~", "a"),
        (r"\p{IsLatin}+", "é", "я"),
        (r"\p{sc=Cyrillic}", "я", "a"),
        (r"\P{L}", "1", "a"),
        (r"\x41\t", "A\t", "A"),
        (r"(a)(b)\2\1", "abba", "abab"),
        (r"(?<a1>x)\k<a1>", "xx", "x"),
        (r"a{2}{3}", "aa", "a"),
        (r"(?m)a$\n^b", "a\nb", "ab"),
        (r"(?i)[a-c]\p{Lower}", "BX", "1x"),
        (r"\Q[\E]", "[]", "["),
        (r"(?s).", "\n", ""),
        (r"(?d)a.", "a\r", "a\n"),
        (r"[\p{Alpha}&&[^\p{Upper}]]", "a", "A"),
        (r"\\", "\\", "a"),
        (r"[a-]", "-", "b"),
        (r"(?>a*)b", "aab", "aa"),
        (r"\11", "", "x"),
    ],
)
def test_a_pattern_matches_as_in_java(pattern: str, yes: str, no: str) -> None:
    compiled = compile_java(pattern)
    assert compiled.matches(yes) is (pattern != r"\11")
    assert not compiled.matches(no)


@pytest.mark.parametrize(
    "pattern",
    words(r"""
        a{,3} [[] (?#x) \8x(?P=a) (?<1a>x) \k<no> [b-a] \p{Latin} \u12 \x{110000} a++* (a)(?<=\1)b (?c)a \b{g} [a&&
        \c a{99999999999} ( (?z) \
    """),
)
def test_a_pattern_that_java_refuses_or_that_cannot_be_given_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="Invalid regex"):
        compile_java(pattern)


@pytest.mark.parametrize(
    ("replacement", "made"),
    [(r"\$1", "$1"), ("$1$2", "ab"), ("$0!", "ab!"), ("${n}$12", "ba2"), (r"\\", "\\"), ("", "")],
)
def test_a_replacement_is_expanded_as_in_java(replacement: str, made: str) -> None:
    assert compile_java("(a)(?<n>b)").replace_first("ab", replacement) == made


@pytest.mark.parametrize(
    ("replacement", "error"),
    [
        ("$3", IndexError),
        ("$", ValueError),
        ("${x}", ValueError),
        ("${n", ValueError),
        ("\\", ValueError),
        ("$x", ValueError),
        ("${}", ValueError),
    ],
)
def test_a_bad_replacement_fails_when_it_is_used(replacement: str, error: type[Exception]) -> None:
    pattern = compile_java("(a)(?<n>b)")
    with pytest.raises(error):
        pattern.replace_first("ab", replacement)
    assert pattern.replace_first("x", replacement) == "x"


def router(regex: str, replacement: str) -> RegexRouter:
    made = RegexRouter()
    made.configure(RegexRouter.Config.parse({"regex": regex, "replacement": replacement}))
    return made


@pytest.mark.parametrize("topics", ["foobar", ["foobar", "foo", "x"]])
def test_routing_a_batch_is_routing_each_record(topics: str | list[str | None]) -> None:
    batch = RecordBatch(length=3, topic=topics, value=["a", "b", "c"])
    plugin = router("foo|foobar", "X")
    made = plugin.apply_batch(batch)
    assert list(made.records()) == [plugin.apply(r) for r in batch.records()]
    assert made.column("topic")[0] == "Xbar"


def test_a_record_without_topic_cannot_be_routed_but_never_matches_either() -> None:
    with pytest.raises(TypeError):
        router(".*", "x").apply(Record(topic=None, value=1))
    predicate = TopicNameMatches()
    predicate.configure(TopicNameMatches.Config.parse({"pattern": ".*"}))
    assert predicate.test(Record(topic=None, value=1)) is False
    assert predicate.test_batch(RecordBatch(length=2, topic=[None, "a"], value=[1, 2])) == [False, True]


@pytest.mark.parametrize("pattern", ["", "  ", "("])
def test_a_predicate_needs_a_pattern_that_compiles(pattern: str) -> None:
    with pytest.raises(ConfigError, match="pattern"):
        TopicNameMatches.Config.parse({"pattern": pattern})


@pytest.mark.parametrize(
    ("values", "answer"), [(None, True), (["", {}], False), ([None, "a"], [True, False]), ([None, None], [True, True])]
)
def test_tombstones_are_recognized_only_by_their_value(values: list[object] | None, answer: object) -> None:
    batch = RecordBatch(length=2, topic="t", value=values)
    assert RecordIsTombstone().test_batch(batch) == answer
    assert [RecordIsTombstone().test(r) for r in batch.records()] == [r.value is None for r in batch.records()]
