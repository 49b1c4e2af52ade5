"""Variables: where their values come from, which one wins, and what type they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from tailrace.config import Config, ConfigErrors, Problem, Secret
from tailrace.config.load import load

DECLARED = 'variable "x" {\n  default = "default"\n}\n'


@pytest.fixture
def run(tmp_path: Path):
    def load_it(
        text: str = DECLARED,
        *,
        flags: Sequence[str] = (),
        file: str | None = None,
        environ: Mapping[str, str] | None = None,
        automatic: str | None = None,
    ) -> Config:
        (tmp_path / "a.tpc").write_text(text)
        if automatic is not None:
            (tmp_path / "a.auto.tpvars").write_text(automatic)
        files = [tmp_path / "given.tpvars"] if file is not None else []
        for path in files:
            path.write_text(str(file))
        now = datetime(2024, 3, 31)
        return load([tmp_path], now=now, environ=environ or {}, variables=flags, variable_files=files)

    return load_it


@pytest.fixture
def refuse(run):
    def problem_of(*args: str, **options: object) -> Problem:
        with pytest.raises(ConfigErrors) as raised:
            run(*args, **options)
        (problem,) = raised.value.errors
        return problem

    return problem_of


def test_the_strongest_wins(run, tmp_path):
    env = {"TAILRACE_VAR_x": "environment"}
    assert run().variables[0].value == "default"
    assert run(automatic='x = "automatic"').variables[0].value == "automatic"
    assert run(automatic='x = "automatic"', environ=env).variables[0].value == "environment"
    assert run(file='x = "file"', environ=env).variables[0].value == "file"
    (found,) = run(file='{"x": "file"}', environ=env, flags=["x=first", "x=flag=2"]).variables
    assert (found.value, found.origin) == ("flag=2", "--var x")
    assert run(file='\n\nx = "file"').variables[0].origin == f"{tmp_path}/given.tpvars:3:1"


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("string", "7", "7"),
        ("number", "7", 7),
        ("number", "-7.5", -7.5),
        ("bool", "true", True),
        ("any", "[1]", "[1]"),
        ("list(string)", '["a", 1]', ["a", "1"]),
        ("set(number)", "[1, 2]", [1, 2]),
        ("map(number)", '{ a = 1, "b": "2" }', {"a": 1, "b": 2}),
        ("list(map(string))", '[{"a": "x"}]', [{"a": "x"}]),
        ('"string"', "quoted", "quoted"),
        ("list", "[1, true]", [1, True]),
    ],
)
def test_types(run, kind, given, expected):
    text = f'variable "x" {{\n  type = {kind}\n}}\n'
    assert run(text, flags=[f"x={given}"]).variables[0].value == expected
    assert run(text, environ={"TAILRACE_VAR_x": given}).variables[0].value == expected


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("number", "x=seven", "--var x: variable 'x' must be a number, not a text"),
        ("bool", "x=yes", "--var x: variable 'x' must be true or false, not a text"),
        ("list(string)", "x=a, b", "--var x: cannot read the value a, b"),
        ("list(number)", 'x=["a"]', "--var x: variable 'x' must be a number, not a text"),
        ("map(string)", "x=[1]", "--var x: variable 'x' must be a map, not a list"),
        ("list(string)", "x=[1 / 0]", "--var x: cannot calculate this: division by zero"),
        ("string", "x", "--var x: has no value"),
        ("string", "y=1", "--var y: unknown variable 'y'"),
    ],
)
def test_values_that_do_not_fit(refuse, kind, given, message):
    text = f'variable "x" {{\n  type = {kind}\n  default = null\n}}\n'
    if kind != "string":
        text = text.replace("  default = null\n", "")
    assert str(refuse(text.replace("null", '"d"'), flags=[given])) == message


def test_files_with_faults(run, refuse, tmp_path):
    assert "given.tpvars:1:5: 'x' has no value" not in str(refuse(file="x =\n"))
    assert str(refuse(file="x =\n")).endswith("given.tpvars:1:1: 'x' has no value")
    assert "not JSON" in refuse(file='{"x": ').message
    assert refuse(file='block "x" {}\n').message == "a file of variables holds no blocks"
    (warning,) = run(file="xx = 1\n").warnings
    assert (warning.message, warning.hint) == ("no variable 'xx' is declared", "did you mean 'x'?")


def test_sensitive_values_never_show(run, refuse):
    text = 'variable "x" {\n  type = string\n  sensitive = true\n}\n'
    config = run(text, flags=["x=hunter2"])
    assert isinstance(config.variables[0].value, Secret)
    assert "hunter2" not in repr(config)
    wrong = text + 'locals {\n  a = env("hunter2")\n  b = "${var.x}"\n}\n'
    assert "hunter2" not in refuse(wrong, flags=["x=hunter2"]).render()


def test_declarations(refuse):
    assert refuse('variable "x" {\n  default = 1\n  defualt = 2\n}').hint == "did you mean 'default'?"
    assert refuse('variable "x" {\n  type = list(strin)\n  default = []\n}').message == "unknown type 'strin'"
    assert refuse('variable "x" {\n  default = 1\n}\nvariable "x" {\n}').code == "config.duplicate-name"
    assert refuse('variable "x" {\n  default = var.x\n}').code == "config.circular-reference"
    assert refuse('variable "x" {\n  default = 1\n  sensitive = "no"\n}').message.startswith("'sensitive' must be true")
