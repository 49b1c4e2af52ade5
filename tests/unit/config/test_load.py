from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.config import select
from tailrace.core import ConfigError, UsageError


def partition(table: str, name: str) -> str:
    return f'partition "{table}" "{name}" {{\n  source "file" {{\n    paths = ["/x"]\n  }}\n}}\n'


@pytest.fixture
def config(load):
    pairs = [
        ("nginx_access_log", "prod"),
        ("nginx_access_log", "dev"),
        ("aws_vpc_flow_log", "prod"),
        ("aws_vpc_flow_log", "two words"),
    ]
    return load("".join(partition(*pair) for pair in pairs))  # fmt: skip


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ([], "nginx.prod nginx.dev flow.prod flow.two"),
        (["*"], "nginx.prod nginx.dev flow.prod flow.two"),
        (["nginx_access_log"], "nginx.prod nginx.dev"),
        (["NGINX_*"], "nginx.prod nginx.dev"),
        (["prod"], "nginx.prod flow.prod"),
        (["p?od"], "nginx.prod flow.prod"),
        (["aws_*.prod"], "flow.prod"),
        (["*.dev"], "nginx.dev"),
        (["aws_flowlog"], "flow.prod flow.two"),
        (["aws_flowlog.two*"], "flow.two"),
        (["two words", "nginx_access_log.prod"], "nginx.prod flow.two"),
        (["prod", "nginx_access_log.prod"], "nginx.prod flow.prod"),
    ],
)
def test_select(config, selectors, expected):
    short = {"nginx_access_log": "nginx", "aws_vpc_flow_log": "flow"}
    found = [f"{short[p.table]}.{p.name.split()[0]}" for p in select(config, selectors)]
    assert " ".join(found) == expected


@pytest.mark.parametrize(
    ("selector", "message", "hint"),
    [
        ("prd", "no partition matches 'prd'", "did you mean 'prod'?"),
        ("nginx_access_log.prd", "no partition matches 'nginx_access_log.prd'", "'nginx_access_log.prod'"),
        ("a.b.c", "'a.b.c' is not a selector", "table.partition"),
        ("a.", "'a.' is not a selector", "table.partition"),
        ("", "'' is not a selector", "table.partition"),
    ],
)
def test_select_nothing(config, selector, message, hint):
    with pytest.raises(UsageError) as raised:
        select(config, [selector])
    assert raised.value.message == message
    assert hint in (raised.value.hint or "")


def test_files_and_directories(tmp_path, load_path):
    (tmp_path / "b.tpc").write_text(partition("nginx_access_log", "b"))
    (tmp_path / "a.tpc").write_bytes(
        b"\xef\xbb\xbf" + partition("nginx_access_log", "a").replace("\n", "\r\n").encode()
    )
    (tmp_path / "notes.txt").write_text("not a config")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.tpc").write_text("not read")
    single = tmp_path / "single.conf"
    single.write_text(partition("nginx_access_log", "c"))
    config = load_path(tmp_path, single, tmp_path / "a.tpc")
    assert [p.name for p in config.partitions] == ["a", "b", "c"]
    assert config.files == (str(tmp_path / "a.tpc"), str(tmp_path / "b.tpc"), str(single))
    assert str(config.partitions[0].where) == f"{tmp_path / 'a.tpc'}:1:4"


def test_no_files_is_an_empty_config(tmp_path, load_path):
    assert load_path(tmp_path).partitions == ()


def test_a_path_that_does_not_exist(tmp_path, load_path):
    with pytest.raises(ConfigError, match="does not exist"):
        load_path(tmp_path / "nope")


@pytest.mark.parametrize("name", ["b.tpc", "b.toml", "b.auto.tpvars"])
def test_a_link_that_leads_nowhere_is_told(tmp_path, load_path, name):
    (tmp_path / "a.tpc").write_text(partition("nginx_access_log", "a"))
    (tmp_path / name).symlink_to("/etc/logs/gone.tpc")
    with pytest.raises(ConfigError, match=f"{name} is a link to /etc/logs/gone.tpc, where nothing is") as caught:
        load_path(tmp_path)
    assert caught.value.hint == "mend the link, or remove it"


def test_references_cross_files_in_any_order(load):
    config = load(
        'partition "t" "p" {\n source = source.file.s\n}',
        'source "file" "s" {\n paths = [local.root]\n format = format.jsonl.f\n}',
        'format "jsonl" "f" {}\nlocals {\n root = "/r"\n}\ntable "t" {\n column "ts" {}\n}',
    )
    assert config.partitions[0].sources[0].args == {"paths": ("/r",)}


def test_import_is_light():
    code = "import sys, tailrace.config; print({'tree_sitter', 'pyarrow', 'duckdb', 'numpy'} & set(sys.modules))"
    environ = {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.strip() == "set()"
