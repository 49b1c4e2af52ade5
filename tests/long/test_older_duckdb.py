"""What `connect` writes, in the DuckDB of other programs, which may be older than ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from world import World

from tailrace.query.connect import connect
from tailrace.query.engine import Engine

VERSIONS = ("1.3.2", "1.4.4", "1.5.6")
CONFIG = """
partition "aws_cloudtrail_log" "prod" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""
SQL = """
select count(*) as n, min(tp_timestamp)::varchar as first, max(user_identity.arn) as arn,
max(request_parameters ->> 'key') as key, count(*) filter (where tp_timestamp < now()) as past,
max(user_identity.session_context.web_id_federation_data.attributes ->> 'a') as inner
from aws_cloudtrail_log where tp_date < '2025-04-01'
"""
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import duckdb
assert duckdb.__version__ == sys.argv[2], duckdb.__version__
found = []
for path in sys.argv[3:5]:
    con = duckdb.connect() if path.endswith(".sql") else duckdb.connect(path, read_only=True)
    if path.endswith(".sql"):
        con.execute(open(path).read())
    found.append(con.execute(sys.argv[5]).fetchall())
    found.append(con.execute("select count(*) from information_schema.tables where table_type = 'VIEW'").fetchall())
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Days enough for a view of several parts."""
    root = tmp_path_factory.mktemp("connect")
    who = {"arn": "arn:aws:iam::1:user/a", "sessionContext": {"webIdFederationData": {"attributes": {"a": "b"}}}}
    records = [
        {"eventTime": f"2025-0{1 + n // 28}-{1 + n % 28:02}T12:00:00Z", "eventID": str(n), "userIdentity": who,
         "requestParameters": {"key": f"k{n}"}}
        for n in range(28 * 6)
    ]  # fmt: skip
    (root / "logs").mkdir()
    (root / "logs" / "a.json").write_text(json.dumps({"Records": records}))
    world = World(root / "home")
    world.write_config(CONFIG.format(logs=root / "logs"))
    (report,) = world.collect()
    assert report.counts.stored == len(records)
    return world


@pytest.mark.parametrize("version", VERSIONS)
def test_script_and_file(
    stored: World, tmp_path: Path, version: str, record_property: Callable[[str, object], None]
) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / version)]
    installed = subprocess.run([*pip, f"duckdb=={version}"], capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"DuckDB {version} cannot be installed: {installed.stderr.strip().splitlines()[-1]}")
    made = connect(Engine(stored.lake), tmp_path / "connect")
    places = [str(tmp_path / version), version, str(made.script), str(made.database)]
    done = subprocess.run([sys.executable, "-S", "-c", PROGRAM, *places, SQL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    script, script_views, file, file_views = json.loads(done.stdout)
    assert script == file == [[84, "2025-01-01 12:00:00", "arn:aws:iam::1:user/a", "k9", 84, "b"]]
    assert script_views == file_views == [[made.tables]]
    record_property("versions of DuckDB", 1)
