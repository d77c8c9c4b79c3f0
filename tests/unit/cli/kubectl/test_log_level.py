"""`kubectl penstock log-level`: its command line."""

import pytest

from penstock_cli.kubectl.command import main

from .cluster import Cluster


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["orders", "DEBUG"], "DEBUG"),
        (["orders", "--tasks", "0", "DEBUG"], "DEBUG 0"),
        (["--tasks", "0,2", "orders", "DEBUG", "-n", "shop"], "DEBUG 0,2"),
        (["-n", "shop", "orders", "-n", "shop", "DEBUG"], "DEBUG"),
        (["orders", "--reset"], None),
    ],
)
def test_options_can_be_anywhere(cluster: Cluster, words: list[str], value: str | None) -> None:
    assert main(["log-level", *words]) == 0
    assert cluster.calls()[0][1] == {"metadata": {"annotations": {"penstock.dev/log-level": value}}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["orders"], "specify either LEVEL or --reset"),
        (["orders", "DEBUG", "--reset"], "specify either LEVEL or --reset"),
        (["orders", "--reset", "--tasks", "3"], "--reset applies to all tasks; remove --tasks"),
        (["orders", "DEBUG", "INFO"], "unrecognized arguments: INFO"),
        (["orders", "DEBUG", "--such"], "unrecognized arguments: --such"),
    ],
)
def test_a_request_that_is_not_clear_is_refused(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["log-level", *words])
    assert message in capsys.readouterr().err
    assert cluster.calls() == []
