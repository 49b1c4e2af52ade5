"""All errors at once: a block that cannot be read hides nothing that is wrong elsewhere."""

from __future__ import annotations

import time

import pytest

GOOD = 'partition "nginx_access_log" "%s" {\n  source "file" {\n    paths = ["/x"]\n  }\n}\n'


def places(problems) -> list[str]:
    return [problem.where for problem in problems]


def test_several_faults_in_one_block_and_others_after_it(fail):
    text = """
    schema "one" {
      tables = ["a" "b"]
      types = "never closed
      description = 'single'
    }
    schema "two" {
      start_date =
      end_date = "also not closed
    }
    schema "three" {
      description = some words
      indexes: ["x"]
    }
    schema "four" {
      descripton = "unknown"
    }
    """
    found = fail(text)
    assert places(found) == [f"a.tpc:{at}" for at in ("4:11", "8:3", "9:14", "12:17", "13:10", "16:3")]


def test_other_files_are_read_as_well(fail):
    found = fail('schema "x" {\n  a = "\n}', 'schema "y" {\n  nope = 1\n}', "}")
    assert places(found) == ["a.tpc:2:7", "b.tpc:2:3", "c.tpc:1:1"]


def test_names_in_blocks_that_cannot_be_read_are_not_missed(fail):
    broken = 'connection "aws" "prod" {\n  profile = "x\n}\ntable "mine" {\n  column "ts" {}}}\n}\n'
    using = """
    partition "mine" "p" {
      source "file" {
        paths = ["/x"]
        connection = connection.aws.prod
      }
    }
    partition "yours" "p" {
      source "file" {
        paths = ["/x"]
        connection = connection.aws.prodd
      }
    }
    """
    found = fail(broken, using)
    assert places(found) == ["a.tpc:2:13", "b.tpc:8:11", "b.tpc:11:18"]


def test_a_brace_too_few_or_too_many_costs_one_block(fail):
    assert places(fail('schema "a" {\n  tables = ["x"]\n' + GOOD % "p" + 'schema "b" {\n  nope = 1\n}\n')) == [
        "a.tpc:1:12",
        "a.tpc:9:3",
    ]
    assert places(fail('schema "a" {\n}\n}\n' + GOOD % "p" + 'schema "b" {\n  nope = 1\n}\n'))[0] == "a.tpc:3:1"


def test_blocks_inside_may_stand_at_the_margin(fail):
    text = 'partition "nginx_access_log" "p" {\nsource "file" {\npaths = ["/x"]\n}\n}\nschema "x" {\n  a b\n}\n'
    assert places(fail(text)) == ["a.tpc:7:3"]


def test_there_is_an_end_to_problems(fail):
    assert len(fail("".join(f'schema "s{n}" {{\n  a = "\n}}\n' for n in range(200)))) == 20


@pytest.mark.parametrize("piece", ['"x" ', "a b\n", "x = [\n", "a {\n", "}\n", "%{", "`", '"${', "key"])
def test_wrong_files_are_wrong_soon(fail, piece):
    began = time.process_time()
    assert fail('schema "x" {\n  tables = [' + piece * 10_000 + "]\n}\n")
    assert time.process_time() - began < 2


def test_computing_is_bounded(fail, load):
    doubled = "\n".join(f'  a{n} = "${{local.a{n - 1}}}${{local.a{n - 1}}}"' for n in range(1, 60))
    shared = "\n".join(f"  b{n} = [local.b{n - 1}, local.b{n - 1}]" for n in range(1, 60))
    found = fail(f'locals {{\n  a0 = "0123456789"\n{doubled}\n}}', f"locals {{\n  b0 = []\n{shared}\n}}")
    assert {problem.message for problem in found} == {"this configuration computes too much"}
    assert "longer than" in fail('locals {\n  a = join(join("", [for x in split("", "xxxxxxxxxx") : '
                                 'format("%999s", x)]), split("", format("%999s", "")))\n}')[0].message  # fmt: skip
    nested = "\n".join(f"  c{n} = [local.c{n - 1}]" for n in range(1, 200))
    assert fail(f"locals {{\n  c0 = 1\n{nested}\n}}")[0].message == "nested too deeply"
    load("locals {\n  many = [" + '"x", ' * 50_000 + "]\n}")
