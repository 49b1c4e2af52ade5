"""From file to query: what lines have beside the match of a regular expression is in `tp_extra`."""

from __future__ import annotations

from world import World

CONFIG = r"""
format "regex" "job" {{
  layout = `(?P<at>\S+) job=(?P<job>\w+) took (?P<s>[0-9.]+)s`
}}
table "jobs" {{
  format = format.regex.job
  column "tp_timestamp" {{ source = "at" }}
}}
partition "jobs" "p" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""
LINES = """2026-11-17T00:00:01Z job=a took 1s
PREFIX 2026-11-17T00:00:02Z job=b took 2s
2026-11-17T00:00:03Z job=c took 3s TRAILER
no job at all
"""


def test_it_is_kept_and_becomes_no_column(world: World) -> None:
    logs = world.home.parent / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(LINES)
    world.write_config(CONFIG.format(logs=logs))
    (report,) = world.collect()
    assert report.clean, report.troubles
    assert world.query("select job, tp_extra->>'$.tp_before', tp_extra->>'$.tp_rest' from jobs order by 1") == [
        ("a", None, None),
        ("b", "PREFIX", None),
        ("c", None, "TRAILER"),
    ]
    columns = [name for name, *_ in world.query("describe jobs")]
    assert not {"tp_before", "tp_rest"} & set(columns)
    assert world.query("select reason, raw::varchar from tp_quarantine") == [("regex: no match", "no job at all")]
