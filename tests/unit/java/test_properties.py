"""Java's properties files, line by line (`java.util.Properties.load`)."""

import pytest

from penstock_java_compat.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=1", {"a": "1"}, id="equals sign"),
        pytest.param("a: 1", {"a": "1"}, id="colon"),
        pytest.param("a 1", {"a": "1"}, id="blank"),
        pytest.param("a\t=\t1", {"a": "1"}, id="blanks around the separator"),
        pytest.param("a==1", {"a": "=1"}, id="only the first separator separates"),
        pytest.param("a = b c ", {"a": "b c "}, id="blanks at the end belong to the value"),
        pytest.param("a", {"a": ""}, id="a key alone"),
        pytest.param("a=", {"a": ""}, id="an empty value"),
        pytest.param("# x\n! y\n\n  # z\na=1", {"a": "1"}, id="comments and empty lines"),
        pytest.param("a=1 # no comment", {"a": "1 # no comment"}, id="no comment inside a line"),
        pytest.param("a=1,\\\n   2,\\\n\t3", {"a": "1,2,3"}, id="continuation drops leading blanks"),
        pytest.param("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}, id="two backslashes do not continue"),
        pytest.param("a=1\\", {"a": "1"}, id="continuation at the end of the file"),
        pytest.param("# x\\\na=1", {"a": "1"}, id="comments do not continue"),
        pytest.param("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}, id="escapes in keys"),
        pytest.param("a=\\t\\n\\r\\f\\q", {"a": "\t\n\r\fq"}, id="escapes in values"),
        pytest.param("a=\\u00e9\\u20AC", {"a": "é€"}, id="unicode escapes"),
        pytest.param("a=\\ud83d\\ude00", {"a": "😀"}, id="two surrogates are one character"),
        pytest.param("a=C:\\\\temp", {"a": "C:\\temp"}, id="escaped backslash"),
        pytest.param("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}, id="all line ends"),
        pytest.param("a=1\na=2", {"a": "2"}, id="the last of a name counts"),
        pytest.param('a={\\\n  "x": 1}', {"a": '{"x": 1}'}, id="JSON over two lines"),
    ],
)
def test_a_text_reads_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_a_malformed_escape_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: Malformed \\uxxxx encoding"):
        parse_properties("a=1\nb=\\u12")
