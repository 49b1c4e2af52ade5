"""Names: whole, without their type, with wildcards."""

from __future__ import annotations

from contextlib import suppress

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.cli.main import cli
from tailrace.cli.matching import chosen, listed
from tailrace.core import UsageError

NAMES = ["aws_cloudtrail_log.dev", "aws_cloudtrail_log.prod", "aws_vpc_flow_log.prod", "nginx_access_log.web"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("aws_*", NAMES[:3]),
        ("*.prod", NAMES[1:3]),
        ("aws_cloudtrail_log", NAMES[:2]),
        ("aws_cloudtrail_log.*", NAMES[:2]),
        ("PROD", NAMES[1:3]),
        ("w?b", NAMES[3:]),
        ("partition.nginx_access_log.web", NAMES[3:]),
    ],
)
def test_patterns_of_lists(pattern: str, found: list[str]) -> None:
    assert listed("partition", [pattern], NAMES) == found


def test_several_patterns_keep_the_order_of_the_names() -> None:
    assert listed("partition", ["*.web", "*.dev"], NAMES) == [NAMES[0], NAMES[3]]
    assert listed("partition", [], NAMES) == NAMES


@pytest.mark.parametrize("name", ["web", "nginx_access_log.web", "partition.nginx_access_log.web"])
def test_a_type_may_be_left_out_when_the_name_is_unique(name: str) -> None:
    assert chosen("partition", name, NAMES) == ["nginx_access_log.web"]


def test_an_ambiguous_name_lists_the_candidates() -> None:
    with pytest.raises(UsageError, match="several partitions are called 'prod'") as caught:
        chosen("partition", "prod", NAMES)
    assert caught.value.hint == "one of aws_cloudtrail_log.prod, aws_vpc_flow_log.prod"


@pytest.mark.parametrize(("name", "hint"), [("wep", "did you mean 'web'?"), ("nothing*", "tailrace partition list")])
def test_an_unknown_name_has_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match="no partition is called") as caught:
        chosen("partition", name, NAMES)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@given(st.text(max_size=12), st.lists(st.text("ab._-* ", min_size=1, max_size=8), max_size=5, unique=True))
def test_whatever_is_asked_for_gives_names_or_a_usage_error(name: str, names: list[str]) -> None:
    with suppress(UsageError):
        found = chosen("partition", name, names)
        assert found
        assert set(found) <= set(names)


@pytest.mark.parametrize(
    "noun", ["connection", "format", "partition", "plugin", "schema", "sink", "source", "store", "table", "window"]
)
def test_hints_name_commands_that_exist(noun: str) -> None:
    with pytest.raises(UsageError) as raised:
        listed(noun, ["nope"], [])
    assert raised.value.hint is not None
    _, group, name = raised.value.hint.split("`")[1].split()
    found = cli.get_command(click.Context(cli), group)
    assert isinstance(found, click.Group)
    assert name in found.list_commands(click.Context(found))
