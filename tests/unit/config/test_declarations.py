"""What holds for every block and attribute, because it is declared: kinds, defaults, examples, places."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tailrace.config.attributes import KIND_WORDS, Attr, Attrs, BlockType, fitted
from tailrace.config.declare import BLOCK_TYPES, OTHER_BLOCKS
from tailrace.config.declare_sources import CONNECTIONS, KIND_SYNONYMS, KINDS, SOURCE
from tailrace.config.places import Problem, Report, Where
from tailrace.config.values import Secret, Setting

HERE = Where("a.tpc", 1, 1)
WRONG = {"flag": '"x"', "number": '"x"', "map": "[1]", "any": "bare"}
"Per kind a value that does not fit; a number fits none of the other kinds."


def _every() -> Iterator[tuple[str, BlockType]]:
    for kind in BLOCK_TYPES.values():
        yield kind.name, kind
        yield from ((f"{kind.name} {name}", inner) for name, inner in (kind.types | kind.blocks).items())
        for inner in kind.blocks.values():
            yield from ((f"{inner.name} {name}", deeper) for name, deeper in (inner.types | inner.blocks).items())


EVERY = dict(_every())
ATTRIBUTES = [
    pytest.param(kind, name, attr, id=f"{path}.{name}")
    for path, kind in EVERY.items()
    for name, attr in kind.attributes.items()
]


@pytest.mark.parametrize(("kind", "name", "attr"), ATTRIBUTES)
def test_declarations_are_sound(kind: BlockType, name: str, attr: Attr):
    assert attr.kind in KIND_WORDS
    assert attr.doc.endswith((".", "?", "…"))
    assert not attr.same_as or kind.attributes[attr.same_as].kind == attr.kind
    assert bool(attr.to) == (attr.kind in ("reference", "references", "table"))
    assert not (attr.required and attr.default is not None)
    if attr.default is not None:
        given = list(attr.default) if isinstance(attr.default, tuple) else attr.default
        assert fitted(Setting(name, given, HERE, HERE), attr, Report()) == attr.default


WHOLE = [
    each for each in ATTRIBUTES if (attr := each.values[2]).kind == "number" and not attr.fraction
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "attr"), WHOLE)
def test_no_fraction_is_cut_off(kind: BlockType, name: str, attr: Attr):
    with pytest.raises(Problem, match=f"'{name}' must be a whole number, not 7.5") as told:
        fitted(Setting(name, 7.5, HERE, HERE), attr, Report())
    assert (told.value.place, told.value.hint) == (HERE, f"write {name} = 8")
    whole = fitted(Setting(name, 7.0, HERE, HERE), attr, Report())
    assert (whole, type(whole)) == (7, int)


def test_shares_seconds_and_rates_may_have_a_fraction():
    having = {each.values[1] for each in ATTRIBUTES if each.values[2].fraction}
    assert having == {
        "rate", "similarity_threshold", "rate_limit", "request_timeout", "max_backoff", "min_error_retry_delay"
    }  # fmt: skip


@pytest.mark.parametrize("path", EVERY)
def test_blocks_say_what_they_are_for(path):
    kind = EVERY[path]
    assert kind.doc.endswith((".", "`."))
    assert set(kind.either) <= kind.attributes.keys()


@pytest.mark.parametrize("kind", [kind for kind in BLOCK_TYPES.values() if kind.example], ids=lambda kind: kind.name)
def test_examples_load(load, kind):
    around = 'sink "parquet" "events" {\n path = "x"\n}' if kind.name == "listener" else ""
    config = load(kind.example, around)
    told = {warning.message for warning in config.warnings}
    assert (f"a {kind.name} is not active yet" in told) is not kind.active


def test_every_block_has_an_example():
    without = {kind.name for kind in BLOCK_TYPES.values() if not kind.example}
    assert without == {"column", "locals", "variable"}


def _top_level() -> Iterator[object]:
    """Every attribute of every block that can stand at the top level, with the text around it."""
    for kind, attributes in KINDS.items():
        yield from _params(f'source "{kind}" "x"', {**attributes.attributes, **SOURCE})
    for kind, declared in CONNECTIONS.items():
        yield from _params(f'connection "{kind}" "x"', declared.attributes)
    for kind in sorted(OTHER_BLOCKS):
        declared = BLOCK_TYPES[kind]
        for name, own in declared.types.items():
            yield from _params(f'{kind} "{name}" "x"', {**declared.attributes, **own.attributes})
        if not declared.types:
            yield from _params(f'{kind} "x"', declared.attributes)
    yield from _params('workspace "x"', BLOCK_TYPES["workspace"].attributes)
    yield from _params('partition "nginx_access_log" "x"', BLOCK_TYPES["partition"].attributes)


def _params(head: str, attributes: Attrs) -> Iterator[object]:
    for name, attr in attributes.items():
        if name not in ("type", "name", "table"):
            yield pytest.param(head, name, WRONG.get(attr.kind, "5"), id=f"{head} {name}")


@pytest.mark.parametrize(("head", "name", "wrong"), list(_top_level()))
def test_a_wrong_value_is_told_at_its_own_place(fail, head, name, wrong):
    problems = fail(f"{head} {{\n  {name} = {wrong}\n}}")
    (problem,) = (p for p in problems if p.code != "config.missing-attribute" and p.code != "config.missing-source")
    assert str(problem.place) == f"a.tpc:2:{6 + len(name)}"
    assert f"'{name}' must be" in problem.message or "unknown name 'bare'" in problem.message


SECRETS = [
    pytest.param(head, kind, name, id=f"{head} {kind} {name}")
    for head, kinds in (("connection", CONNECTIONS), ("source", KINDS))
    for kind, declared in kinds.items()
    for name, attr in declared.attributes.items()
    if attr.secret
]


@pytest.mark.parametrize(("head", "kind", "name"), SECRETS)
def test_what_is_secret_is_never_shown(load, fail, head, kind, name):
    declared = (CONNECTIONS if head == "connection" else KINDS)[kind].attributes
    given = '{ a = "hunter2" }' if declared[name].kind == "map" else '"hunter2"'
    others = [f'{other} = "x"' for other, attr in declared.items() if attr.required]
    text = "\n".join((f'{head} "{kind}" "x" {{', f"{name} = {given}", *others, "}"))
    config = load(text)
    value = getattr(config, f"{head}s")[0].args[name]
    assert Secret("hunter2") in (value.values() if isinstance(value, dict) else [value])
    assert "hunter2" not in repr(config)
    # The same text on a line that is shown for another reason.
    problems = fail(text, 'source "http" {\n  nope = "hunter2"\n}')
    assert "hunter2" not in "".join(problem.render() for problem in problems)


def test_synonyms_lead_to_kinds():
    assert set(KIND_SYNONYMS.values()) <= KINDS.keys()
