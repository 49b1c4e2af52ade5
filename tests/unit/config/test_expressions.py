from __future__ import annotations

import pytest

PROBE = "locals {{\n  value = {}\n}}\n"
READER = 'source "http" "probe" {\n  url  = "https://example.com"\n  body = local.value\n}'


@pytest.fixture
def value(load):
    def run(expression: str, *more: str, **options: object) -> object:
        return load(PROBE.format(expression), *more, READER, **options).sources[0].args.get("body")

    return run


@pytest.fixture
def error(fail):
    def run(expression: str, **options: object) -> str:
        (problem,) = fail(PROBE.format(expression), READER, **options)
        return str(problem)

    return run


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("1.0e3", 1000.0),
        ("-2", -2),
        ("true", True),
        ("null", None),
        ('"a\\tb\\"c\\\\\\u00e9"', 'a\tb"c\\é'),
        ("`raw \\d \"x\" ${y} %{IP:z}`", 'raw \\d "x" ${y} %{IP:z}'),
        ('"$${x} %%{y}"', "${x} %{y}"),
        ("[1, \"a\", [true]]", [1, "a", [True]]),
        ("[]", []),
        ("{}", {}),
        ('{ a = 1, "b c" = 2, d : 3, (upper("e")) = 4 }', {"a": 1, "b c": 2, "d": 3, "E": 4}),
        ("{\n a = 1\n b = 2\n}", {"a": 1, "b": 2}),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("7 / 2", 3.5),
        ("1 == true", False),
        ("6 / 2", 3),
        ("7 % 4", 3),
        ("1 < 2 && 2 <= 2 || false", True),
        ("!(1 == 2)", True),
        ('"a" != "b"', True),
        ('1 > 2 ? "x" : "y"', "y"),
        ('"${1 + 1} and ${"in${"ner"}"} ${true}"', "2 and inner true"),
        ('"${[1, 2]}"', [1, 2]),
        ("[1, 2, 3][1]", 2),
        ('{ a = { b = 5 } }.a["b"]', 5),
        ("[{ a = 1 }, { a = 2 }][*].a", [1, 2]),
        ("[for x in [1, 2, 3] : x * 10 if x > 1]", [20, 30]),
        ("[for i, x in [5, 6] : i + x]", [5, 7]),
        ('{ for k, v in { a = 1 } : upper(k) => v + 1 }', {"A": 2}),
        ('{ for x in ["a", "b", "a"] : x => 1... }', {"a": [1, 1], "b": [1]}),
        ("<<EOT\nline ${1 + 1}\n  two\nEOT", "line 2\n  two\n"),
        ("<<-EOT\n    line ${1 + 1}\n      two\n    EOT", "line 2\n  two\n"),
    ],
)  # fmt: skip
def test_values(value, expression, expected):
    assert value(expression) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("timestamp()", "2024-03-31T12:30:05Z"),
        ('timeadd(timestamp(), "-168h")', "2024-03-24T12:30:05Z"),
        ('timeadd("2024-03-01T00:00:00Z", "-1d")', "2024-02-29T00:00:00Z"),
        ('timeadd("2024-03-01T00:00:00Z", "1h30m")', "2024-03-01T01:30:00Z"),
        ('formatdate("YYYY-MM-DD", timeadd(timestamp(), "-365d"))', "2023-04-01"),
        ("formatdate(\"EEE D MMM YY 'at' h:mm AA Z\", timestamp())", "Sun 31 Mar 24 at 12:30 PM Z"),
        ('env("HOME")', "/home/me"),
        ('env("NOPE", "x")', "x"),
        ('pathexpand("~/logs")', "/home/me/logs"),
        ('jsonencode({ a = [1, null], b = "é" })', '{"a":[1,null],"b":"é"}'),
        ('jsondecode("{\\"a\\": 1}").a', 1),
        ("concat([1], [2, 3])", [1, 2, 3]),
        ('format("%s-%03d-%.1f-%v%%", "a", 7, 2, true)', "a-007-2.0-true%"),
        ('join(",", ["a", 1])', "a,1"),
        ('split(",", "a,b")', ["a", "b"]),
        ('replace("a.b.c", ".", "/")', "a/b/c"),
        ('lower("AB")', "ab"),
        ('upper("ab")', "AB"),
        ('coalesce(null, "", "x")', "x"),
        ('lookup({ a = 1 }, "a")', 1),
        ('lookup({ a = 1 }, "b", 2)', 2),
        ("merge({ a = 1, b = 1 }, { b = 2 })", {"a": 1, "b": 2}),
        ('join("-", ["a"]...)', None),
    ],
)
def test_functions(value, error, call, expected):
    if expected is None:
        assert "expected a list" in error(call)
    else:
        assert value(call) == expected


def test_file_is_read_beside_the_config(value, error, tmp_path):
    (tmp_path / "x.txt").write_text("hello")
    assert value('file("x.txt")', directory=str(tmp_path)) == "hello"
    assert "there is no file" in error('file("y.txt")', directory=str(tmp_path))


def test_locals_and_variables(value, fail):
    names = 'locals {\n a = local.b + 1\n b = 1\n}\nvariable "v" {\n default = "d"\n}\nvariable "w" {}\n'
    given = {"TAILRACE_VAR_w": "given"}
    assert value('"${local.a}/${var.v}"', names, environ=given) == "2/d"
    assert value("var.w", names, environ=given) == "given"
    (problem,) = fail(PROBE.format("var.w"), names)
    assert problem.message == "variable 'w' has no value"
    assert "--var w=…, TAILRACE_VAR_w" in str(problem.hint)


def test_circular_locals(fail):
    (problem,) = fail(PROBE.format("local.a"), "locals {\n a = local.b\n b = local.a\n}")
    assert "local.b → local.a → local.b" in problem.message or "local.a → local.b → local.a" in problem.message
    assert problem.code == "config.circular-reference"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 / 0", "2:11: cannot calculate this"),
        ('1 + "a"', "2:11: expected a number, found a text"),
        ("1 ? 2 : 3", "2:11: expected true or false, found a number"),
        ("nope(1)", "2:11: unknown function 'nope'"),
        ("lower()", "2:11: lower() takes 1 argument, not 0"),
        ('lower("a", "b")', "2:11: lower() takes 1 argument, not 2"),
        ('env("NOPE")', "2:11: env(): the environment variable NOPE is not set"),
        ('timeadd(timestamp(), "soon")', "2:11: timeadd(): 'soon' is not a duration"),
        ('formatdate("Q", timestamp())', "2:11: formatdate(): 'Q' has no meaning"),
        ('jsondecode("{")', "2:11: jsondecode(): not JSON"),
        ("local.nope", "2:16: unknown name 'local.nope'"),
        ("[1][3]", "2:14: there is no item 3 in a list of 1"),
        ("{ a = 1 }.b", "2:20: there is no 'b' in this map"),
        ("{ a = 1, a = 2 }", "2:20: 'a' is given twice"),
        ("bare", "2:11: unknown name 'bare'"),
        ('"${connection.a.b}x"', "2:14: the name connection.a.b cannot stand in a text"),
        ('"é${1 / 0}"', "2:15: cannot calculate this"),
        ('"100%{x}"', "2:15: '%{' begins no directive that is known"),
        ('"\\ud800"', "2:12: there is no character D800"),
        ("1.5.3", "2:14: a number has no '3'"),
    ],
)
def test_errors(error, expression, message):
    assert error(expression).startswith(f"a.tpc:{message}")
