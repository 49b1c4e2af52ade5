"""Custom tables that take columns from elsewhere: from the first records, or from a built-in table."""

from __future__ import annotations

from pathlib import Path

import pytest
from logfiles import write
from world import World


def partition(table: str, logs: Path, more: str = "") -> str:
    return f'partition "{table}" "p" {{\n source "file" {{ paths = ["{logs}"] }}\n{more}\n}}\n'


LEARNED = """at,n,x,ok,day,code,id,mixed,none
2024-05-01T10:00:00Z,7,1.5,true,2024-05-01,007,12345678901234567890,1,
2024-05-02T10:00:00Z,-8,2,FALSE,2024-05-02,008,1,a,
"""


@pytest.mark.parametrize("all_varchar", [False, True])
def test_types_of_delimited_fields_are_learned(all_varchar: bool, world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.csv", LEARNED)
    world.write_config(
        partition("app", tmp_path / "logs")
        + f"""
        format "delimited" "f" {{
          header      = true
          all_varchar = {str(all_varchar).lower()}
        }}
        table "app" {{
          format = format.delimited.f
          column "tp_timestamp" {{ source = "at" }}
        }}
        """
    )
    assert world.collect()[0].clean
    types = "typeof(n), typeof(x), typeof(ok), typeof(day), typeof(code), typeof(id), typeof(mixed)"
    expected = ("BIGINT", "DOUBLE", "BOOLEAN", "DATE", "VARCHAR", "VARCHAR", "VARCHAR")
    assert world.query(f"select distinct {types} from app") == [("VARCHAR",) * 7 if all_varchar else expected]
    assert world.query("select n::bigint, x::double, ok::boolean, code, mixed from app order by tp_timestamp") == [
        (7, 1.5, True, "007", "1"), (-8, 2.0, False, "008", "a")
    ]  # fmt: skip


def test_a_table_of_its_own_extends_a_built_in_one(world: World, tmp_path: Path) -> None:
    line = '192.0.2.1 - - [01/May/2024:10:00:00 +0000] "GET /a/b HTTP/1.1" 200 5 "-" "x" 0.25\n'
    write(tmp_path / "logs" / "a.log", line)
    world.write_config(
        partition("shop_access_log", tmp_path / "logs")
        + """
        format "nginx_access_log" "timed" {
          layout = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" \
"$http_user_agent" $took`
        }
        table "shop_access_log" {
          extends = table.nginx_access_log
          format  = format.nginx_access_log.timed
          column "section" { transform = "split_part(request_uri, '/', 2)" }
          column "took"    { type = "double" }
        }
        """.replace("\\\n", "")
    )
    (report,) = world.collect()
    assert report.clean
    rows = world.query("select section, took, status, tp_ips, tp_table, tp_extra from shop_access_log")
    assert rows == [("a", 0.25, 200, ["192.0.2.1"], "shop_access_log", None)]
