"""Completion in real shells: what is proposed, that it is quick, and that nothing else is ever printed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commandline import Finished, Home

CONFIG = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["/nowhere"] }
}
collection "trail" {
  type = "aws_cloudtrail_log"
  source "file" { paths = ["/nowhere"] }
}
table "orders" {
  column "tp_timestamp" { source = "time" }
}
connection "aws" "prod" {}
"""
ASKED = [
    (("",), {"collect", "query", "config", "completion"}),
    (("co",), {"collect", "config", "connection", "completion"}),
    (("partition", ""), {"list", "show"}),
    (("partition", "show", ""), {"nginx_access_log.web", "aws_cloudtrail_log.trail"}),
    (("partition", "show", "we"), {"web"}),
    (("collect", "nginx"), {"nginx_access_log", "nginx_access_log.web"}),
    (("table", "show", "or"), {"orders"}),
    (("connection", "show", ""), {"aws.prod"}),
    (("config", "show", "pa"), {"partition"}),
    (("config", "show", "partition.n"), {"partition.nginx_access_log.web"}),
    (("table", "list", "--out"), {"--output"}),
    (("table", "list", "--output", "js"), {"json", "jsonl"}),
    (("completion", "z"), {"zsh"}),
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with a configuration, and `tailrace` on the path."""
    made = Home(tmp_path / "home")
    made.configure(CONFIG)
    command = tmp_path / "bin" / "tailrace"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m tailrace.cli.main "$@"\n')
    command.chmod(0o755)
    made.env["PATH"] = f"{command.parent}:{made.environment()['PATH']}"
    return made


def shell(home: Home, *command: str, stdin: str = "") -> Finished:
    done = subprocess.run(command, input=stdin, env=home.environment(), capture_output=True, text=True, timeout=120)
    return Finished(done.returncode, done.stdout, done.stderr)


def in_bash(home: Home, *asked: tuple[str, ...]) -> list[set[str]]:
    """What is proposed for each of them, in one shell."""
    script = 'eval "$(tailrace completion bash)"\n'
    for words in asked:
        quoted = " ".join(f"'{word}'" for word in ("tailrace", *words))
        script += f"""
COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; COMPREPLY=()
_tailrace_completion tailrace
printf '%s\\n' "${{COMPREPLY[@]}}" "@@"
"""
    done = shell(home, "bash", "--norc", "-c", script)
    assert (done.code, done.err) == (0, "")
    return [set(answer.split()) for answer in done.out.split("@@\n")[:-1]]


def test_only_what_is_configured_can_be_collected(home: Home) -> None:
    stored = home.path / "data" / "default" / "tp_table=nginx_access_log" / "tp_partition=old"
    stored.mkdir(parents=True)
    shown, collected = in_bash(home, ("partition", "show", "nginx"), ("collect", "nginx"))
    assert "nginx_access_log.old" in shown
    assert "nginx_access_log.old" not in collected


def test_bash(home: Home) -> None:
    answers = in_bash(home, *(words for words, _ in ASKED))
    for (words, wanted), found in zip(ASKED, answers, strict=True):
        assert wanted <= found, words
        assert all(proposal.startswith(words[-1]) for proposal in found), words


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(("words", "wanted"), ASKED[1:5])
def test_fish(home: Home, words: tuple[str, ...], wanted: set[str]) -> None:
    script = f"tailrace completion fish | source; complete -C 'tailrace {' '.join(words)}'"
    done = shell(home, "fish", "--no-config", "-c", script)
    assert (done.code, done.err) == (0, "")
    assert wanted <= {line.split("\t")[0] for line in done.out.splitlines()}


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh(home: Home) -> None:
    script = home.run("completion", "zsh").out
    assert shell(home, "zsh", "-n", stdin=script).code == 0
    # Without a terminal zsh cannot complete: the builtins are stood in for, and tell what they are given.
    stand_ins = "compdef() { : }; _describe() { print -l ${(P)2} }; compadd() { print -rl -- ${(P)argv[-1]} }\n"
    ask = "words=(tailrace partition show ''); CURRENT=4; _tailrace_completion\n"
    done = shell(home, "zsh", "-f", stdin=stand_ins + script + ask)
    assert done.err == ""
    assert "nginx_access_log.web" in done.out


def ask(home: Home, line: str, **env: str) -> Finished:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    return home.run(_TAILRACE_COMPLETE="bash_complete", **words, **env)


@pytest.mark.parametrize(
    "line",
    ["tailrace collect ", "tailrace nonsense ", "tailrace partition show ", "tailrace --home", "tailrace 'open"],
)
def test_nothing_is_ever_said_but_proposals(home: Home, line: str) -> None:
    home.configure('partition "broken" {{{ \x00')
    (home.path / "config" / "unreadable.tpc").mkdir()
    done = ask(home, line)
    assert (done.code, done.err) == (0, "")
    assert all(proposal.startswith(("plain,", "file,", "dir,")) for proposal in done.out.split("\n") if proposal)


def test_a_thousand_partitions_are_completed_quickly(home: Home) -> None:
    for number in range(100):
        blocks = (f'partition "nginx_access_log" "p{number * 10 + i}" {{\n}}\n' for i in range(10))
        (home.path / "config" / f"{number}.tpc").write_text("".join(blocks))
    ask(home, "tailrace collect ")
    times = []
    for _ in range(3):
        began = time.monotonic()
        assert len(ask(home, "tailrace partition show nginx_access_log.p").out.splitlines()) == 1000
        times.append(time.monotonic() - began)
    # Half a second on an idle machine; tests share theirs.
    assert min(times) < 3


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_scripts_say_how_to_keep_them(home: Home, name: str) -> None:
    done = home.run("completion", name)
    assert done.code == 0
    assert done.out.startswith("# For good: ")
    assert "_TAILRACE_COMPLETE" in done.out
