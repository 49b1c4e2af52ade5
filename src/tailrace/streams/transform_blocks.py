"""`transform` blocks → transforms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tailrace.config.declare_live import TRANSFORMS
from tailrace.config.functions import duration
from tailrace.config.model import OtherBlock
from tailrace.config.values import Secret
from tailrace.core.errors import ConfigError
from tailrace.core.patterns import LONGEST
from tailrace.streams.patterns import Pattern
from tailrace.streams.redaction import PATTERNS, Field, Redact
from tailrace.streams.redaction import Pattern as Sought
from tailrace.streams.row_rules import Condition, Filter, Reduce, Sample
from tailrace.streams.transforms import Transform


def transforms(block: OtherBlock) -> tuple[Transform, ...]:
    """Those of a listener or sink, in their order."""
    return tuple(_transform(inner) for inner in block.blocks if inner.kind == "transform")


def _transform(block: OtherBlock) -> Transform:
    args: dict[str, Any] = {name: attr.default for name, attr in TRANSFORMS[block.type].attributes.items()}
    args |= dict(block.args)
    if block.type == "filter":
        return _filter(block, args)
    if block.type == "redact":
        return _redact(block, args)
    if block.type == "sample":
        return Sample(float(args["rate"]), args["key"])
    if block.type == "reduce":
        window = int(duration(str(args["window"])).total_seconds() * 1000)
        return Reduce(tuple(args["group_by"]), max(window, 1), int(args["max_events"]), int(args["min_events"]))
    return _pattern(block, args)


def _pattern(block: OtherBlock, args: Mapping[str, Any]) -> Pattern:
    share = float(args["similarity_threshold"])
    if not 0 < share <= 1:
        raise _wrong(block, "'similarity_threshold' is a share", "write a number above 0, and 1 at most")
    return Pattern(str(args["field"]), share, int(args["max_child_nodes"]), int(args["cache_size"]))


def _filter(block: OtherBlock, args: Mapping[str, Any]) -> Filter:
    conditions = tuple(
        Condition(str(inner.args["field"]), str(inner.args.get("operator", "eq")), inner.args.get("value"))
        for inner in block.blocks
    )
    if (args["where"] is None) == (not conditions):
        raise _wrong(block, "a filter needs conditions or 'where', not both", "write condition { field = … value = … }")
    for condition in conditions:
        if condition.operator == "regex":
            _checked(block, str(condition.value))
    found = Filter(str(args["action"]), str(args["match"]), conditions, args["where"])
    try:
        assert found.known
    except ConfigError as error:
        raise _wrong(
            block, error.message, "write a DuckDB condition over columns of events, logs or snapshots"
        ) from None
    return found


def _redact(block: OtherBlock, args: Mapping[str, Any]) -> Redact:
    own = tuple(
        Sought(name, _checked(block, str(regex)), f"{name}_", own=True)
        for name, regex in (args["custom_patterns"] or {}).items()
    )
    fields = tuple(
        Field(str(inner.args["path"]), _word(inner, "pattern"), _word(inner, "strategy")) for inner in block.blocks
    )
    known = {**PATTERNS, **{pattern.name: pattern for pattern in own}}
    for field in fields:
        if field.pattern is not None and field.pattern not in known:
            raise _wrong(block, f"there is no pattern '{field.pattern}'", f"choose from {', '.join(known)}")
    patterns = (*(PATTERNS[name] for name in args["patterns"] or ()), *own)
    hashes = "hash" in {args["strategy"], *(field.strategy for field in fields)}
    if hashes and not args["hash_key"]:
        raise _wrong(block, "a hash needs 'hash_key'", 'write hash_key = env("…")')
    if not patterns and not fields:
        raise _wrong(block, "nothing is looked for", 'write patterns = ["email"], or field { path = … }')
    key = args["hash_key"].reveal() if isinstance(args["hash_key"], Secret) else ""
    return Redact(str(args["strategy"]), key, patterns, fields, bool(args["scan_all"]))


def _word(block: OtherBlock, name: str) -> str | None:
    value = block.args.get(name)
    return None if value is None else str(value)


def _checked(block: OtherBlock, regex: str) -> str:
    if len(regex) > LONGEST:
        raise _wrong(block, f"a regular expression has more than {LONGEST:,} characters", "make several of it")
    try:
        re.compile(regex)
    except re.error as error:
        raise _wrong(block, f"'{regex}' is no regular expression: {error}", "mend it") from None
    return regex


def _wrong(block: OtherBlock, message: str, hint: str) -> ConfigError:
    return ConfigError(message, code="serve.transform", where=str(block.where), hint=hint)
