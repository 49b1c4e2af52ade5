from __future__ import annotations

import pickle

import pytest

from tailrace.config import ConfigErrors
from tailrace.core import ConfigError

FILE = 'source "file" {\n    paths = ["/x"]\n  }\n'
TABLE = 'table "t" {\n  column "ts" {}\n'
PARTITION = 'partition "nginx_access_log" "p" {\n  ' + FILE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # syntax
        ('partition "a" "b" {\n  filter = "x"\n', "1:19: '{' is never closed"),
        ("a = [1, 2\n}", "2:1: expected ']' for the '[' of line 1, found '}'"),
        ("}", "1:1: '}' closes nothing"),
        ('x "y" {\n  a = "never\n}', "2:7: text is never closed"),
        ("x {\n  a = `never\n}", "2:7: raw text is never closed"),
        ("x {\n  a = <<EOT\nnever\n}", "2:7: heredoc is never closed"),
        ("/* never", "1:1: comment is never closed"),
        ('x {\n  a = "${never"\n}', "2:8: '${' is never closed"),
        ("x {\n  a =\n  b = 1\n}", "2:3: 'a' has no value"),
        ('partition "a" "b" {\n  ...\n}', "2:3: '...' stands for nothing"),
        ("locals {\n  a = 1 b = 2\n}", "2:9: expected a line end before this"),
        ("locals {\n  a = 1\n  a = 2\n}", "3:3: 'a' is given twice"),
        ('schema "x" {\n  a = 1\n  b = [1 2]\n}', "3:11: unexpected ']'"),
        ('schema "x" {\n  a = 1\n  b = x y\n}\nschema "y" {}', "3:7: expected one value"),
        ("schema x {\n  a = 'b'\n}", "2:7: a text stands between double quotes"),
        ("schema x {\n  a = [/var/log]\n}", "2:8: a path stands between double quotes"),
        ("schema x {\n  a = ~/logs\n}", "2:7: a path stands between double quotes"),
        ('schema "x" = {\n  a = 1\n}', "1:12: a block takes no '='"),
        ('schema x {\n  tier = "a" {\n  }\n}', "2:8: a block takes no '='"),
        ('schema x {\n  "a" = 1\n}', "2:3: the name of an attribute stands without quotes"),
        ("schema x {\n  a: 1\n}", "2:4: expected '=' after 'a'"),
        ('schema x {\n  a "b"\n}', "2:5: expected '=' after 'a'"),
        ("a = 1", "1:1: 'a' stands outside of any block"),
        # names
        ('partion "a" "b" {}', "1:1: unknown block 'partion'"),
        (PARTITION + "  fitler = 1\n}", "5:3: unknown attribute 'fitler'"),
        (PARTITION + '  sorce "file" {}\n}', "5:3: unknown block 'sorce'"),
        ('partition "nginx_acces_log" "p" {\n  ' + FILE + "}", "1:11: unknown table 'nginx_acces_log'"),
        ('partition "nginx_access_log" "p" {\n  source "fil" {}\n}', "2:10: unknown source 'fil'"),
        (PARTITION + "  source_format = format.jsonl.nope\n}", "5:19: format.jsonl.nope does not exist"),
        (PARTITION + '  source_format = { type = "delimeted" }\n}', "5:28: unknown format type 'delimeted'"),
        (PARTITION + '  source_format = { type = "csv", delim = "," }\n}', "5:35: unknown attribute 'delim'"),
        (PARTITION + "  source = source.file.nope\n}", "5:12: source.file.nope does not exist"),
        ('partition "x" "p" {\n  ' + FILE + "}", "1:11: unknown table 'x'"),
        (PARTITION + '  tp_index = "statu"\n}', "5:14: unknown column 'statu'"),
        (PARTITION + '  tp_index = "a + b"\n}', "5:14: tp_index 'a + b' is not a column name"),
        (PARTITION + "}\n" + PARTITION + "}", "6:1: partition nginx_access_log.p already exists"),
        ('partition "nginx_access_log" "a.b" {\n  ' + FILE + "}", "1:1: 'a.b' is not a name"),
        ('connection "aws" "a" {}\nconnection "aws" "a" {}', "2:1: connection aws.a already exists"),
        (PARTITION + "  store = store.nope\n}", "5:11: store.nope does not exist"),
        ("locals {\n  a = 1 / 0\n}", "2:7: cannot calculate this"),
        # shapes
        ('partition "nginx_access_log" "p" {}', "1:1: partition nginx_access_log p has no source"),
        ('partition "p" {\n  ' + FILE + "}", "1:1: a partition takes a table and a name"),
        ('connection "aws" {}', "1:1: a connection block takes two labels"),
        ('format "f" {}', "1:1: a format block takes a type and a name"),
        ('format "grok" "g" {}', "1:8: a grok format needs a layout"),
        ('partition "nginx_access_log" "p" {\n  source "file" {}\n}', "2:3: a file source needs 'paths'"),
        ('partition "nginx_access_log" "p" {\n  source {}\n}', "2:3: a source takes its kind"),
        # types
        (PARTITION + "  filter = [1]\n}", "5:12: 'filter' must be a text, not a list"),
        (PARTITION + "  filter = status\n}", "5:12: 'filter' must be a text, not the name status"),
        (PARTITION + "  source_format = 5\n}", "5:19: 'source_format' must be a format, not a number"),
        (PARTITION + '  source = "file"\n}', "5:12: 'source' must be a source"),
        ('partition "p" {\n  type = 5\n  ' + FILE + "}", "2:10: 'type' must be a table, not a number"),
        ('workspace "w" {\n  base = "x"\n}', "2:10: 'base' must be a workspace"),
        ('workspace "w" {\n  base = workspace.w\n}', "2:10: workspace w is its own base"),
        ('workspace "w" {\n  connection = connection.a.b\n}', "2:16: connection.a.b does not exist"),
        ('format "json" "j" {\n  keys = "kebab"\n}', "2:10: 'keys' must be"),
        ('table "t" {\n  column "ts" {\n    type = "datetme"\n  }\n}', "3:12: unknown type 'datetme'"),
        ('table "t" {\n  column "ts" {}\n  column "ts" {}\n}', "3:3: column ts already exists"),
        ('table "t" {\n  column "a" {}\n}', "1:1: table t does not say when its events happened"),
        # names that SQL or the lake cannot keep apart or hold
        (TABLE + '  column "TS" {}\n}', "3:3: column TS already exists"),
        ('table "nginx_access_log" {\n  column "Status" {}\n}', "2:3: column Status already exists"),
        (TABLE + "}\n" + TABLE.replace('"t"', '"T"') + "}", "4:1: table T already exists"),
        (TABLE.replace('"t"', '"NGINX_access_log"') + "}", "1:1: table NGINX_access_log already exists"),
        (TABLE.replace('"t"', '"AWS_cloudtrail"') + "}", "1:1: table AWS_cloudtrail already exists"),
        (TABLE.replace('"t"', '"tp_quarantine"') + "}", "1:1: 'tp_quarantine' cannot name a table"),
        (TABLE.replace('"t"', '"TP_mine"') + "}", "1:1: 'TP_mine' cannot name a table"),
        (TABLE.replace('"t"', '"my table"') + "}", "1:1: 'my table' cannot name a table"),
        (TABLE.replace('"t"', '"a%b"') + "}", "1:1: 'a%b' cannot name a table"),
        (TABLE.replace('"t"', f'"{"x" * 201}"') + "}", f"1:1: '{'x' * 201}' cannot name a table"),
        (TABLE + '  column "tp_id" {}\n}', "3:10: column tp_id cannot be mapped"),
        (TABLE + '  column "tp_Extra" {}\n}', "3:10: column tp_Extra cannot be mapped"),
        (TABLE + '  column "tp_table" {}\n}', "3:10: column tp_table cannot be mapped"),
        (TABLE + '  column "" {}\n}', "3:10: '' cannot name a column"),
        (TABLE + '  column " a" {}\n}', "3:10: ' a' cannot name a column"),
        (TABLE + '  column "a\\tb" {}\n}', "3:10: 'a\\tb' cannot name a column"),
        (
            'table "t" {\n  column "ts" {\n    source = "a"\n    transform = "b"\n  }\n}',
            "4:5: source and transform cannot both be set",
        ),
    ],
)
def test_each_error_names_its_place(fail, text, expected):
    assert str(fail(text)[0]).startswith(f"a.tpc:{expected}")


def test_one_mistake_gives_one_error(fail):
    (problem,) = fail(PARTITION + "  source_format = format.mine\n}", 'format "mine" {\n  type = "nope"\n}')
    assert problem.message == "unknown format type 'nope'"


def test_all_errors_at_once_with_line_and_caret(fail):
    problems = fail(
        'partition "nginx_access_log" "p" {\n  fitler = "x"\n  source "fil" {}\n}\n',
        'connection "aws" {}\n',
    )
    assert [problem.where for problem in problems] == ["a.tpc:2:3", "a.tpc:3:10", "b.tpc:1:1"]
    assert problems[0].excerpt == '  |   fitler = "x"\n  |   ^'
    assert problems[0].hint == "did you mean 'filter'?"
    assert problems[0].code == "config.unknown-attribute"
    text = str(ConfigErrors(problems))
    assert text.count("^") == 3
    assert "hint: did you mean 'filter'?" in text


def test_errors_travel_between_processes(fail):
    errors = ConfigErrors(fail("a = 1"))
    again = pickle.loads(pickle.dumps(errors))
    assert isinstance(again, ConfigError)
    assert str(again) == str(errors)
    assert again.exit_code == 3


def test_columns_count_characters_and_survive_raw_strings(fail):
    (problem,) = fail('source "http" {\n  url = "u"\n  body = ["é`", `%{A:b}\n"c"`, nope]\n}')
    assert problem.where == "a.tpc:4:7"
    assert problem.excerpt == '  | "c"`, nope]\n  |       ^'


def test_secrets_do_not_show_in_excerpts(fail):
    (problem,) = fail('connection "aws" "b" {\n  secret_key = "hunter2" profile = "p"\n}')
    assert "hunter2" not in problem.render()
    assert problem.where == "a.tpc:2:26"
    (problem,) = fail('locals {\n  a = "https://u:hunter2@h/?sig=hunter3" b = 1\n}')
    assert problem.excerpt.startswith('  |   a = "https://u:*******@h/?sig=*******" b = 1\n')


def test_secrets_that_are_computed_or_misspelled_do_not_show_either(fail):
    (problem,) = fail('connection "aws" "b" { secret_key = upper("hunter2", "hunter3", env("NAME")) }')
    assert 'secret_key = upper("*******", "*******", env("NAME")) }' in problem.excerpt
    (problem,) = fail('connection "http" "b" {\n  tokn = "hunter2"\n}')
    assert problem.excerpt.startswith('  |   tokn = "*******"\n')


def test_not_utf8(tmp_path, load_path):
    (tmp_path / "a.tpc").write_bytes(b'schema "x" {\n  a = "\xff"\n}')
    with pytest.raises(ConfigErrors, match=r"a\.tpc:2:8: the file is not UTF-8"):
        load_path(tmp_path)
