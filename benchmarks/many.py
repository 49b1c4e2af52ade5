"""Large configurations and many tables, to find out what their number costs."""

from __future__ import annotations

import shutil
from pathlib import Path

import tailrace

TABLES = ("nginx_access_log", "apache_access_log", "aws_cloudtrail_log", "aws_vpc_flow_log")
PARTITION = """partition "{table}" "p{number}" {{
  description = "Logs of host {number}"
  source "file" {{
    paths       = ["/var/log/host{number}/*.log", "/srv/host{number}"]
    file_layout = `%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}/%{{DATA}}.log`
  }}
}}

"""
BLOCK = """table "orders_{number}" {{
  description = "Orders of shop {number}."
  column "tp_timestamp" {{ source = "time" }}
  column "customer" {{ required = true }}
  column "amount" {{ type = "double" }}
}}

"""


def partitions(directory: Path, files: int, each: int) -> Path:
    """A directory of configuration files with so many partitions in each."""
    directory.mkdir(parents=True)
    for file in range(files):
        numbers = range(file * each, (file + 1) * each)
        text = "".join(PARTITION.format(table=TABLES[n % len(TABLES)], number=n) for n in numbers)
        (directory / f"{file:03}.tpc").write_text(text)
    return directory


def table_blocks(directory: Path, count: int) -> Path:
    """A directory with one file of so many `table` blocks."""
    directory.mkdir(parents=True)
    (directory / "tables.tpc").write_text("".join(BLOCK.format(number=number) for number in range(count)))
    return directory


def with_tables(directory: Path, count: int) -> Path:
    """A copy of the package that has so many built-in tables; for PYTHONPATH."""
    package = directory / "tailrace"
    shutil.copytree(Path(tailrace.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    modules = {name: (package / "tables" / f"{name}.py").read_text() for name in TABLES}
    for module in (package / "tables").glob("[a-z]*.py"):
        module.unlink()
    for number in range(count):
        kind = TABLES[number % len(TABLES)]
        name = kind if number < len(TABLES) else f"{kind}_{number}"
        (package / "tables" / f"{name}.py").write_text(modules[kind].replace(f'name="{kind}"', f'name="{name}"'))
    return directory
