"""A field that a header or format names is a column, though no record has a value for it."""

from __future__ import annotations

import pytest
from world import World

CONFIG = """
format "{kind}" "f" {{
  {format}
}}
table "t" {{
  format = format.{kind}.f
  column "tp_timestamp" {{ source = "at" }}
}}
partition "t" "p" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""
SPACED = "2026-11-16T10:00:00Z {who}\n"
FIELDS = 'fields = ["at", "who", "nothing"]\nheader = false\nnull_str = "-"'


@pytest.mark.parametrize(
    ("kind", "format", "lines", "type"),
    [
        ("delimited", FIELDS, "2026-11-16T10:00:00Z,{who},-\n", "VARCHAR"),
        ("delimited", 'header = true\nnull_str = "-"', "2026-11-16T10:00:00Z,{who},-\n", "VARCHAR"),
        ("regex", r"layout = `^(?P<at>\S+) (?P<who>\w+)(?: (?P<nothing>\d+))?$`", SPACED, "VARCHAR"),
        ("grok", "layout = `%{{NOTSPACE:at}} %{{WORD:who}}(?: %{{INT:nothing:int}})?`", SPACED, "BIGINT"),
    ],
    ids=["fields", "header", "regex", "typed"],
)  # fmt: skip
def test_a_field_without_values_is_a_column_of_nulls(
    world: World, kind: str, format: str, lines: str, type: str
) -> None:
    logs = world.home.parent / "logs"
    logs.mkdir()
    header = "at,who,nothing\n" if "header = true" in format else ""
    (logs / "a.log").write_text(header + "".join(lines.format(who=who) for who in ("ann", "bob")))
    world.write_config(CONFIG.format(kind=kind, format=format.replace("{{", "{").replace("}}", "}"), logs=logs))
    (report,) = world.collect()
    assert report.clean, report.troubles
    assert world.query("select who, nothing, typeof(nothing) from t order by 1") == [
        ("ann", None, type),
        ("bob", None, type),
    ]
