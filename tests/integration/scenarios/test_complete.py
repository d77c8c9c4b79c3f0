"""Every scenario is carried out by a test, or belongs to a later issue for the reason given here.

| scenario | why it is not carried out yet |
|---|---|
"""

import fnmatch
import json
import re
from pathlib import Path

HERE = Path(__file__).parents[1]
SCENARIOS = {c["id"] for c in json.loads((HERE.parent / "conformance" / "cases" / "scenarios.json").read_text())}
LATER = re.findall(r"^\| ([a-z*-]+) \|", __doc__ or "", re.MULTILINE)
TESTED = {i for p in HERE.rglob("test_*.py") for i in re.findall(r'scenario\("([^"]+)"\)', p.read_text())}


def test_every_scenario_is_carried_out_or_put_off_with_a_reason() -> None:
    put_off = {s for s in SCENARIOS for pattern in LATER if fnmatch.fnmatch(s, pattern)}
    assert SCENARIOS - TESTED - put_off == set()
    assert put_off & TESTED == set()


def test_every_name_of_a_scenario_is_one() -> None:
    assert not TESTED - SCENARIOS
    assert [p for p in LATER if not fnmatch.filter(SCENARIOS, p)] == ["scenario"]
