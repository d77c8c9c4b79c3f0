"""Dates as Java 17's SimpleDateFormat prints and reads them. What the tables expect was computed by Java, en_US, UTC."""

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock_java_compat.calendar import DAY, civil, civil_day, millis_of
from penstock_java_compat.date_format import PatternError, SimpleDateFormat, TextError
from penstock_java_compat.date_format.pattern import compile_pattern
from penstock_java_compat.date_format.standard_texts import StandardTexts
from penstock_java_compat.date_format.zones import UTC

COPY_OF_UTC: Final = replace(UTC)
"""The short cut is for `UTC` itself alone."""
AT: Final = 1463716800123  # Friday, 20 May 2016, 04:00
PRINTED: Final = [
    (1463716800123, "y yy yyy yyyy yyyyyy", "2016 16 2016 2016 002016"),
    (1463716800123, "M MM MMM MMMM MMMMM L LLL LLLL", "5 05 May May May 5 May May"),
    (1463716800123, "E EEE EEEE EEEEE u uu", "Fri Fri Friday Friday 5 05"),
    (1463716800123, "D DDDD W F w", "141 0141 3 3 21"),
    (1463716800123, "S SS SSSSSS", "123 123 000123"),
    (1463716800123, "z zzzz Z ZZZZ X XX XXX", "UTC Coordinated Universal Time +0000 +0000 Z Z Z"),
    (1463716800123, "G GGGG", "AD AD"),
    (1463716800123, "h 'o''clock' a ''", "4 o'clock AM '"),
    (1463716800123, "yyyy年MM月", "2016年05月"),
    (1463716800123, "H HH k K KK h aaa", "4 04 4 4 04 4 AM"),
    (1463716800123, "YYYY-'W'ww", "2016-W21"),
    (0, "k K H h a", "24 0 0 12 AM"),
    (253402300800000, "yyyy yy", "10000 00"),
    (-12219292800001, "yyyy-MM-dd D W F w E", "1582-10-04 277 1 1 40 Thu"),
    (-12219292800000, "yyyy-MM-dd D W F w E", "1582-10-15 278 1 1 40 Fri"),
    (-62167478400000, "yyyy-MM-dd G YYYY", "0002-12-31 BC 0000"),
    (-62483443200000, "YYYY y ww", "-0011 12 01"),
    (9223372036854775807, "yyyy-MM-dd HH:mm:ss.SSS", "292278994-08-17 07:12:55.807"),
    (-9223372036854775808, "G yyyy-MM-dd", "BC 292269055-12-02"),
    (1735603200000, "YYYY yyyy ww", "2025 2024 01"),
    (0, "y'y'''y", "1970y'1970"),
    (0, "", ""),
]
READ: Final = [
    ("yyyy", "2E3", 946684800000),
    ("yyyy", "20E-1", -62104233600000),
    ("yyyy", "NaN", -62167392000000),
    ("yyyy", "∞", -6019000092841406464),
    ("yyyy", "-0", -62167392000000),
    ("yyyy", "٣", -62072697600000),
    ("yyyy", "2147483647", -6019000092841406464),
    ("yyyy", "4294967297", -62135769600000),
    ("yyyy", "99999999999999999999", -6019000092841406464),
    ("yyyy", "2,000", -62104233600000),
    ("yyyy", " \t7", -61946467200000),
    ("yyyy", "1E99999999999999999999", -62135769600000),
    ("yyyy-MM-dd", "2019-13-45", 1581638400000),
    ("yyyy-MM-dd", "2024--2-10", 1696896000000),
    ("yyyy-MM-dd", "-0044-03-15", -63549532800000),
    ("yyyy-MM-dd", "1582-10-10", -12218860800000),
    ("yyyy-MM-dd", "1583-00-00", -12215318400000),
    ("yyyy-MM-dd", "24-2-9x", -61406640000000),
    ("yyyyMMdd", "2024229", 1759968000000),
    ("yyyyMMdd", "20240229", 1709164800000),
    ("yyyyMMdd", "2024 229", 1709164800000),
    ("yyyyMMMdd", "20245Feb29", 576708422400000),
    ("dd MMM yyyy", "29 february 2024", 1709164800000),
    ("dd MMM yyyy", "29 \u017fEP 2024", 1727568000000),
    ("yyyy'1'MM", "2024103", None),
    ("hh a", "12 AM", 0),
    ("hh a", "12 pm", 43200000),
    ("hh a", "13 PM", 90000000),
    ("a hh", "PM 1", 46800000),
    ("HH a", "5 PM", 18000000),
    ("a", "PM", 43200000),
    ("kk", "24", 0),
    ("kk", "25", 90000000),
    ("KK a", "12 PM", 86400000),
    ("YYYY ww u", "2016 20 5", 1463097600000),
    ("YYYY ww u", "2000 5 8", 949276800000),
    ("YYYY ww u", "2000 5 -3", 948326400000),
    ("YYYY ww u", "0 1 1", -62167651200000),
    ("YYYY", "2000", 946166400000),
    ("YYYY yyyy", "2000 2001", 978307200000),
    ("HH YYYY", "25 2000", 946256400000),
    ("G YYYY", "BC 5", -62294140800000),
    ("yyyy D", "2016 141", 1463702400000),
    ("yyyy D", "1582 278", -12219292800000),
    ("yyyy MM W E", "2016 5 3 Fri", 1463702400000),
    ("yyyy MM F E", "2016 5 3 Fri", 1463702400000),
    ("yyyy MM F E", "2016 5 -1 Fri", 1464307200000),
    ("E", "Fri", 86400000),
    ("yyyy E w", "2016 Fri 21", 1463702400000),
    ("w", "5", 2073600000),
    ("W", "2", 259200000),
    ("F", "3", 1468800000),
    ("D MM dd", "5 2 3", 2851200000),
    ("MM dd D", "2 3 5", 345600000),
    ("G y", "BC 1", -62167392000000),
    ("G y", "Anno Domini 7", -61946467200000),
    ("X", "Z", 0),
    ("X", "+02", -7200000),
    ("X", "-0330", 10800000),
    ("X", "z", None),
    ("XX", "+0230", -9000000),
    ("XX", "+02:30", None),
    ("XXX", "+02:30", -9000000),
    ("XXX", "+0230", None),
    ("z", "GMT", 0),
    ("z", "gmt+1:30", -5400000),
    ("z", "GMT+130", None),
    ("z", "+0100", -3600000),
    ("z", "PST", 28800000),
    ("z", "pdt", 25200000),
    ("z", "Central European Summer Time", -7200000),
    ("z", "CEST", -7200000),
    ("z", "IST", -7200000),
    ("z", "BST", -7200000),
    ("z", "Réunion Time", -14400000),
    ("z", "RÉUNION TIME", -14400000),
    ("z", "Z", None),
    ("z", "Europe/Berlin", None),
    ("z", " GMT", 0),
    ("HH z", "2 PST", 36000000),
    ("HH z", "2 Turkey Time", 0),
    ("Z z", "+0100 UTC", -3600000),
    ("Z z", "+0100 PST", 28800000),
]
SHORT: Final = [
    "yyyy-MM-dd",
    "yyyy-MM-dd HH:mm:ss",
    "yyyyMMddHHmmssSSS",
    "EEE, dd MMM yyyy hh:mm a",
    "dd/MM/yyyy'T'HH:mm:ss.SSSXXX",
    "yyyy-MM-dd HH:mm:ss z",
    "ddMMMyyyy HHmm Z",
]
moments = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2 * 10**12) | st.integers(-(10**14), 10**14)


@pytest.mark.parametrize(("millis", "pattern", "text"), PRINTED)
def test_a_moment_is_printed_as_java_prints_it(millis: int, pattern: str, text: str) -> None:
    dates = SimpleDateFormat(pattern)
    assert dates.format(millis) == text
    assert dates.format_all([millis, millis]) == [text, text]


@pytest.mark.parametrize(("pattern", "text", "millis"), READ)
def test_a_text_is_read_as_java_reads_it(pattern: str, text: str, millis: int | None) -> None:
    dates = SimpleDateFormat(pattern)
    if millis is None:
        with pytest.raises(TextError):
            dates.parse(text)
    else:
        assert dates.parse(text) == millis


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("yyyy-bb", "Illegal pattern character 'b'"),
        ("yyyyT", "'T'"),
        ("B", "'B'"),
        ("yyyy'", "Unterminated quote"),
        ("XXXX", "invalid ISO 8601 format"),
    ],
)
def test_a_pattern_that_java_refuses_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        SimpleDateFormat(pattern)


def test_a_zone_that_a_text_names_stays_until_another_one_is_named() -> None:
    dates = SimpleDateFormat("yyyy-MM-dd HH:mm z")
    steps = [
        ("2016-05-20 04:00 PST", 1463745600000, "2016-05-19 21:00 PDT"),
        ("2016-05-20 04:00 +0200", 1463709600000, "2016-05-19 21:00 PDT"),
        ("2016-05-20 04:00 CST", 1463738400000, "2016-05-19 23:00 CDT"),
        ("2016-05-20 04:00 UTC", 1463716800000, "2016-05-20 04:00 UTC"),
    ]
    for text, millis, printed in steps:
        assert dates.parse(text) == millis
        assert dates.format(AT) == printed
        assert dates.format_all([AT]) == [printed]


def test_a_zone_stays_also_where_the_text_after_it_fails() -> None:
    dates = SimpleDateFormat("HH:mm z yyyy")
    with pytest.raises(TextError):
        dates.parse("04:00 JST x")
    assert dates.format(AT) == "13:00 JST 2016"


def test_names_of_the_zone_that_a_format_is_in_come_first() -> None:
    dates = SimpleDateFormat("HH:mm z yyyy")
    assert dates.parse("04:00 CST 2016") == 1451642400000  # Chicago
    assert dates.parse("04:00 China Standard Time 2016") == 1451592000000
    assert dates.parse("04:00 CST 2016") == 1451592000000


def test_a_zone_is_printed_by_its_season() -> None:
    dates = SimpleDateFormat("yyyy zzzz Z X XXX")
    dates.parse("2016 Newfoundland Daylight Time +0000 Z Z")
    assert dates.format(AT) == "2016 Newfoundland Daylight Time -0230 -02 -02:30"
    assert dates.format(AT - 150 * DAY) == "2015 Newfoundland Standard Time -0330 -03 -03:30"


def test_a_time_that_no_clock_shows_is_read_with_the_offset_of_its_name() -> None:
    dates = SimpleDateFormat("yyyy-MM-dd HH:mm z")
    assert dates.parse("2016-03-13 02:30 PST") == 1457865000000
    assert dates.parse("2016-03-13 02:30 PDT") == 1457861400000


def test_two_digit_years_lie_80_years_before_to_20_years_after_the_format_was_made() -> None:
    dates = SimpleDateFormat("dd.MM.yy", now=millis_of(2016, 5, 20, 4))
    assert dates.format(dates.parse("20.05.36")) == "20.05.36"
    years = {
        text: civil(dates.parse(text)).year for text in ("19.05.36", "20.05.36", "21.05.36", "01.01.35", "01.01.37")
    }
    assert years == {"19.05.36": 2036, "20.05.36": 2036, "21.05.36": 1936, "01.01.35": 2035, "01.01.37": 1937}
    assert civil(dates.parse("01.01.5")).year == 5
    assert civil(dates.parse("01.01.116")).year == 116


@settings(max_examples=300, deadline=None)
@given(st.lists(moments, min_size=1, max_size=5), st.sampled_from([p for _, p, _ in PRINTED] + SHORT))
def test_printing_many_is_printing_each(millis: list[int], pattern: str) -> None:
    dates = SimpleDateFormat(pattern)
    assert dates.format_all(millis) == [SimpleDateFormat(pattern).format(m) for m in millis]


@st.composite
def nearly_standard(draw: st.DrawFn) -> tuple[str, list[str]]:
    pattern = draw(st.sampled_from(SHORT))
    printed = [SimpleDateFormat(pattern).format(m) for m in draw(st.lists(moments, min_size=1, max_size=4))]
    texts = []
    for text in printed:
        at = draw(st.integers(0, len(text) - 1))
        other = draw(st.sampled_from("0123456789 -+ZEJanP"))
        texts.append(draw(st.sampled_from([text, text[:at] + other + text[at + 1 :], text + other])))
    return pattern, texts


@settings(max_examples=500, deadline=None)
@given(nearly_standard())
def test_the_short_cut_reads_what_the_long_way_reads(given_texts: tuple[str, list[str]]) -> None:
    pattern, texts = given_texts
    assert StandardTexts.of(compile_pattern(pattern)) is not None
    short, long = SimpleDateFormat(pattern), SimpleDateFormat(pattern)
    expected = []
    for text in texts:
        long.zone = COPY_OF_UTC
        try:
            expected.append(long.parse(text))
        except TextError:
            with pytest.raises(TextError):
                short.parse(text)
            return
        assert short.parse(text) == expected[-1]
    assert SimpleDateFormat(pattern).parse_all(texts) == expected


@pytest.mark.parametrize(
    "pattern",
    ["yyyy", "HH:mm yyyy-MM-dd", "yyyy-MM-dd a", "yyyy-MM-dd yyyy", "yyyy'1'MM-dd", "yyyyMM'E'dd", "dd MMM'x'yyyy"],
)
def test_there_is_no_short_cut_where_a_field_could_take_more_than_its_width(pattern: str) -> None:
    assert StandardTexts.of(compile_pattern(pattern)) is None
    assert StandardTexts.of(("x",)) is None


@given(st.integers(-10_000_000, 10_000_000))
def test_days_follow_each_other(day: int) -> None:
    one, other = civil_day(day), civil_day(day + 1)
    assert other.weekday == (one.weekday + 1) % 7
    assert other.day_of_year in (one.day_of_year + 1, 1)
    assert (other.day_of_year == 1) == (other.year != one.year)
    assert 1 <= one.week <= 54
    assert millis_of(one.year, one.month, one.day) == day * DAY


def test_week_years_before_christ_are_as_odd_as_in_java() -> None:
    dates = SimpleDateFormat("YYYY")
    new_years_eve = millis_of(-8, 12, 31)
    texts = dates.format_all([new_years_eve, new_years_eve + DAY])
    assert texts == ["-0008", "-0007"]
