"""A configuration, told in lines: what its blocks became."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from textwrap import dedent

import pytest

from tailrace.config import Config, ConfigErrors, OtherBlock, PartitionSpec, Reference, SourceSpec
from tailrace.config.declare import BLOCK_TYPES
from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core.formats import Format, Grok, Layout, Regex

NOW = datetime(2024, 3, 31, 12, 30, 5)


def loaded(*texts: str, suffix: str = "tpc") -> Config:
    """Texts (files a.tpc, b.tpc …) as one configuration, on the last day of March 2024."""
    files = [Text(f"{chr(97 + at)}.{suffix}", dedent(text).encode()) for at, text in enumerate(texts)]
    return load_texts(files, now=NOW, environ={"HOME": "/home/me"})


def told(config: Config) -> list[str]:
    """Partitions, then the other blocks, one line each; what belongs to a block is indented below it."""
    lines = [line for partition in config.partitions for line in _partition(partition)]
    return lines + [line for block in config.others for line in _other(block)]


def with_defaults(block: OtherBlock) -> dict[str, object]:
    """What holds for a block: what was given, and else what is declared."""
    kind = BLOCK_TYPES[block.kind]
    declared = {**kind.attributes, **(kind.types[block.type].attributes if block.type else {})}
    return {name: attr.default for name, attr in declared.items() if attr.default is not None} | dict(block.args)


def refused(*texts: str) -> list[str]:
    """What is wrong with the texts, and what to do about it: `line: message → hint`."""
    with pytest.raises(ConfigErrors) as raised:
        loaded(*texts)
    return [
        f"{problem.place.line}: {problem.message}" + (f" → {problem.hint}" if problem.hint else "")
        for problem in raised.value.errors
    ]


def _partition(spec: PartitionSpec) -> Iterator[str]:
    yield f"partition {spec.full_name}" + "".join(f" {name}={_value(value)}" for name, value in spec.resting.items())
    yield from (f"  {_source(source)}" for source in spec.sources)
    yield from (f"  {line}" for tier in spec.tiers for line in _other(tier))


def _source(source: SourceSpec) -> str:
    parts = ["source", source.kind] + ([source.name] if source.name != source.kind else [])
    if source.connection:
        parts.append(f"with {source.connection.type}.{source.connection.name}")
    parts += [f"from {place.container}: {place.pattern}" for place in source.locations]
    if not source.locations:
        parts += [f"{name}={_value(value)}" for name, value in source.args.items()]
    return " ".join(parts + ([f"as {_format(source.format)}"] if source.format else []))


def _format(made: Format) -> str:
    """The format's name, and what in it is not as usual."""
    if isinstance(made, (Layout, Grok, Regex)):
        return f"{type(made).__name__.lower()} {made.text if isinstance(made, Layout) else made.layout}"
    plain = type(made)()
    given = {f.name: getattr(made, f.name) for f in fields(made) if getattr(made, f.name) != getattr(plain, f.name)}
    return " ".join([type(made).__name__.lower(), *(f"{name}={_value(value)}" for name, value in given.items())])


def _other(block: OtherBlock) -> Iterator[str]:
    head = " ".join(part for part in (block.kind, block.type, block.name) if part)
    yield head + "".join(f" {name}={_value(value)}" for name, value in block.args.items())
    yield from (f"  {line}" for inner in block.blocks for line in _other(inner))


def _value(value: object) -> str:
    if isinstance(value, tuple):
        pairs = [f"{item[0]}:{item[1]}" if isinstance(item, tuple) else _value(item) for item in value]
        return ",".join(pairs)
    return str(value) if isinstance(value, (str, Reference)) else repr(value)
