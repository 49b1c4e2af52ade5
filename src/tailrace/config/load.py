"""Files → a configuration."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tailrace.config.build import Builder
from tailrace.config.evaluate import Evaluator
from tailrace.config.functions import Surroundings
from tailrace.config.layers import without_replaced
from tailrace.config.limits import Budget
from tailrace.config.literal import read_literal
from tailrace.config.model import Config, VariableSpec
from tailrace.config.places import Report, Text
from tailrace.config.syntax import Attribute, Block, parse
from tailrace.config.values import Secret, plain
from tailrace.config.variables import Outside, declared_variables, given_values
from tailrace.core.errors import ConfigError

SUFFIX = ".tpc"
TOML = ".toml"
"Sinks, listeners and windows may also be written like this."
AUTOMATIC = ".auto.tpvars"
"Files of variables that are read without being named."


def load(
    paths: Sequence[Path],
    *,
    now: datetime,
    environ: Mapping[str, str],
    variables: Sequence[str] = (),
    variable_files: Sequence[Path] = (),
    weaker: Sequence[Path] = (),
    workspace: str = "default",
) -> Config:
    """Files, and the `*.tpc` of directories, as one configuration; ConfigErrors holds all that is wrong.

    `variables` are `name=value` as given to `--var`, `variable_files` what `--var-file` names. Blocks of `weaker`
    files join unless `paths` have one of the same name. `workspace` is the one whose `prefer_plugins` hold.
    """
    strong = find_files(paths)
    weak = [file for file in find_files(weaker) if file not in strong]
    files = strong + weak
    automatic = [file for path in (*weaker, *paths) if path.is_dir() for file in _inside(path, AUTOMATIC)]
    outside = Outside(variables, [_text(file) for file in variable_files], [_text(file) for file in automatic])
    texts = [_text(file) for file in files]
    replaced = {str(file) for file in weak}
    return load_texts(texts, now=now, environ=environ, outside=outside, weaker=replaced, workspace=workspace)


def load_texts(
    texts: Sequence[Text],
    *,
    now: datetime,
    environ: Mapping[str, str],
    outside: Outside | None = None,
    weaker: Collection[str] = (),
    workspace: str = "default",
) -> Config:
    """The same for texts that are already in memory."""
    report = Report()
    blocks = without_replaced([_parse(text, report) for text in texts], weaker)
    budget = Budget(sum(len(text.data) for text in texts))
    evaluator = Evaluator(report, Surroundings(now, environ), _locals(blocks, report), budget)
    top = [block for file in blocks for block in file.blocks]
    variables = evaluator.variables = declared_variables(top, evaluator.value, report)
    variables.given = given_values(outside or Outside(), environ, variables.declared, report)
    evaluator.check_names()
    config = Builder(blocks, evaluator, report, workspace).config()
    config = replace(
        config,
        files=tuple(text.file for text in texts),
        variables=_variables(evaluator),
        outline=report.outline,
    )
    report.check(config)
    return config


def may_move_lake(file: Path) -> bool:
    """Has a `workspace` block of the file a `path`, as far as it can be read? Nothing is evaluated."""
    report = Report()
    whole = _parse(_text(file), report)
    return not report.is_empty or any(b.kind == "workspace" and "path" in b.attributes for b in whole.blocks)


def _parse(text: Text, report: Report) -> Block:
    if text.file.endswith(TOML):
        from tailrace.config.toml import parse_toml

        return parse_toml(text, report)
    plain = read_literal(text)
    if plain is None:
        return parse(text, report)
    report.knows(text)
    report.outline.holds(text.file, *plain)
    return plain[0]


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Files as given; directories flat, in the order of their names; each file once."""
    found: dict[Path, None] = {}
    for path in paths:
        try:
            _check_link(path)
            if path.is_dir():
                found.update(dict.fromkeys([*_inside(path, SUFFIX), *_inside(path, TOML)]))
            elif path.is_file():
                found[path] = None
            else:
                raise ConfigError(
                    f"{path} does not exist",
                    code="config.no-such-path",
                    hint="name a .tpc file or a directory of them",
                )
        except OSError as error:
            raise _unreadable(path, error) from None
    return list(found)


def _inside(directory: Path, suffix: str) -> list[Path]:
    named = sorted(file for file in directory.iterdir() if file.name.endswith(suffix))
    for file in named:
        _check_link(file)
    return [file for file in named if file.is_file()]


def _check_link(path: Path) -> None:
    """One that leads nowhere was meant to be read: without what it holds, all else may mean something other."""
    if path.is_symlink() and not path.exists():
        raise ConfigError(
            f"{path} is a link to {os.readlink(path)}, where nothing is",
            code="config.no-such-path",
            hint="mend the link, or remove it",
        )


def _text(file: Path) -> Text:
    try:
        return Text(str(file), file.read_bytes(), str(file.parent))
    except OSError as error:
        raise _unreadable(file, error) from None


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"cannot read {path}: {error.strerror}", code="config.unreadable")


def _locals(files: Sequence[Block], report: Report) -> dict[str, Attribute]:
    """All `locals` blocks together."""
    found: dict[str, Attribute] = {}
    for block in (block for file in files for block in file.blocks if block.kind == "locals"):
        for inner in block.blocks:
            report.unknown(inner.where, "block", inner.kind, [])
        for name, attribute in block.attributes.items():
            if name in found:
                report.error(
                    attribute.where,
                    f"local {name} already exists",
                    "duplicate-name",
                    f"it is declared at {found[name].where}",
                )
            found.setdefault(name, attribute)
    return found


def _variables(evaluator: Evaluator) -> tuple[VariableSpec, ...]:
    known = evaluator.variables
    return tuple(
        VariableSpec(
            name=name,
            type="(".join(variable.kind) + ")" * (len(variable.kind) - 1),
            value=Secret("***") if variable.sensitive else plain(evaluator.lookup("var", name)),
            origin=known.origin(name),
            description=variable.description,
            where=variable.where,
        )
        for name, variable in known.declared.items()
        if evaluator.has("var", name)
    )
