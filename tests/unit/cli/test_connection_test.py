"""`tailrace connection test`."""

from __future__ import annotations

import json
from pathlib import Path

from bucketserver import BucketServer, serving
from click.testing import CliRunner, Result

from tailrace.cli.main import cli

CONFIG = """
connection "aws" "prod" {
  endpoint_url             = "URL"
  access_key               = "AKIDTEST"
  secret_key               = "hidden-away"
  region                   = "us-east-1"
  max_error_retry_attempts = 1
}
connection "gcp" "idle" {}
source "aws_s3_bucket" "trails" {
  connection = connection.aws.prod
  paths      = ["s3://trails/AWSLogs/*", "s3://trails/other/*"]
}
partition "aws_cloudtrail_log" "all" {
  source = source.aws_s3_bucket.trails
}
"""


def tried(home: Path, url: str, name: str) -> Result:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "a.tpc").write_text(CONFIG.replace("URL", url))
    return CliRunner().invoke(cli, ["--home", str(home), "connection", "test", name, "--output", "json"])


def test_places_that_answer_and_one_that_does_not(tmp_path: Path) -> None:
    server = BucketServer({"AWSLogs/1": b"x"}, faults={"other/": [403] * 9})
    with serving(server) as server:
        done = tried(tmp_path, server.url, "aws.prod")
    answers = {row["what"]: (row["ok"], row["answer"]) for row in json.loads(done.stdout)}
    assert answers["s3://trails/AWSLogs/"] == (True, "can be listed")
    assert answers["s3://trails/other/"] == (False, "cannot be listed: access denied (403, AccessDenied)")
    assert answers["identity"][0] is False  # the server knows no STS
    assert done.exit_code == 5
    assert "hidden-away" not in done.output


def test_a_connection_that_nothing_uses(tmp_path: Path) -> None:
    done = tried(tmp_path, "http://127.0.0.1:9", "gcp.idle")
    assert (done.exit_code, json.loads(done.stdout)[0]["answer"]) == (0, "none uses it")
