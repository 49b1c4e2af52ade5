"""`variable` blocks: what they declare, and where their values come from.

The strongest wins: `--var`, then `--var-file` (the last one first), `TAILRACE_VAR_name`, `*.auto.tpvars`, the default.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tailrace.config.declare import NAME, VARIABLE
from tailrace.config.places import Problem, Report, Text, Where, meant
from tailrace.config.syntax import Attribute, Block, Constant, Expression, parse
from tailrace.config.values import Object, Reference, Value, called, is_block_reference, shown

Evaluate = Callable[[Expression | Constant], Value]
Kind = tuple[str, ...]
"A type from the outside in: `list(map(number))` = list, map, number."

_SCALARS = ("string", "number", "bool", "any")
_HOLDERS = {"list": "list", "set": "list", "tuple": "list", "map": "map", "object": "map"}
_WANTED = {"string": "a text", "number": "a number", "bool": "true or false", "list": "a list", "map": "a map"}


@dataclass(frozen=True, slots=True)
class Given:
    """A value from outside, before it is known which type it has to have."""

    value: Expression | Value
    where: Where
    spelled: bool = False
    "It is text from the command line or the environment: lists and maps are read from it."


@dataclass(frozen=True, slots=True)
class Variable:
    """One `variable` block."""

    name: str
    kind: Kind
    default: Attribute | None
    description: str
    sensitive: bool
    where: Where


@dataclass(frozen=True, slots=True)
class Outside:
    """What the command line, files and the environment say about variables."""

    flags: Sequence[str] = ()
    "As given to `--var`: name=value."
    files: Sequence[Text] = ()
    "As given to `--var-file`."
    automatic: Sequence[Text] = ()
    "`*.auto.tpvars` of the configuration's directories."


@dataclass(slots=True)
class Variables:
    """The declared variables, and what was given for them."""

    declared: dict[str, Variable] = field(default_factory=dict)
    given: dict[str, Given] = field(default_factory=dict)

    def value(self, name: str, evaluate: Evaluate, report: Report) -> Value:
        """The variable's value, of its type; raises KeyError or a Problem."""
        variable = self.declared[name]
        given = self.given.get(name)
        if given is None and variable.default is not None:
            given = Given(variable.default.expression, variable.default.expression.where)
        if given is None:
            hint = f"give it with --var {name}=…, TAILRACE_VAR_{name}, a *.auto.tpvars file, or a default"
            raise report.make(variable.where, f"variable '{name}' has no value", "missing-variable", hint)
        value = evaluate(given.value) if isinstance(given.value, (Expression, Constant)) else given.value
        if given.spelled and variable.kind[0] in ("list", "map"):
            value = _read_value(str(value), given.where, evaluate, report)
        if isinstance(value, Reference) and not is_block_reference(value):
            raise report.make(given.where, f"unknown name '{value}'", "unknown-name", f'for a text, write "{value}"')
        if variable.sensitive:
            report.hide(value)
        try:
            return _converted(value, variable.kind)
        except ValueError as error:
            hint = f"its type is declared at {variable.where}"
            raise report.make(given.where, f"variable '{name}' must be {error}", "wrong-type", hint) from None

    def origin(self, name: str) -> str:
        """Where the value came from, as people say it."""
        given = self.given.get(name)
        return str(given.where) if given else "default"


def declared_variables(blocks: Iterable[Block], evaluate: Evaluate, report: Report) -> Variables:
    """All `variable` blocks."""
    found = Variables()
    for block in blocks:
        if block.kind != "variable" or len(block.labels) != 1:
            continue
        for inner in block.blocks:
            report.unknown(inner.where, "block", inner.kind, [])
        for name in block.attributes.keys() - VARIABLE.keys():
            hint = meant(name, VARIABLE)
            report.error(block.attributes[name].where, f"unknown attribute '{name}'", "unknown-attribute", hint)
        name = block.labels[0]
        if not NAME.fullmatch(name):
            report.error(block.label_places[0], f"'{name}' is not a name", "bad-name", "use letters, digits and _")
        elif name in found.declared:
            hint = f"it is declared at {found.declared[name].where}"
            report.error(block.where, f"variable {name} already exists", "duplicate-name", hint)
        else:
            found.declared[name] = _variable(name, block, evaluate, report)
    return found


def _variable(name: str, block: Block, evaluate: Evaluate, report: Report) -> Variable:
    attributes = block.attributes
    kind: Kind = ("any",)
    if "type" in attributes:
        kind = _kind(attributes["type"].expression, report)
    plain: dict[str, Value] = {"description": "", "sensitive": False}
    for key, wanted in (("description", str), ("sensitive", bool)):
        if key in attributes:
            try:
                plain[key] = evaluate(attributes[key].expression)
            except Problem as problem:
                report.add(problem)
                continue
            if not isinstance(plain[key], wanted):
                must = "a text" if wanted is str else "true or false"
                place = attributes[key].expression.where
                report.error(place, f"'{key}' must be {must}, not {called(plain[key])}", "wrong-type")
    sensitive = plain["sensitive"] is not False
    return Variable(name, kind, attributes.get("default"), str(plain["description"]), sensitive, block.where)


def _kind(expression: Expression | Constant, report: Report) -> Kind:
    """A type is written as in `list(string)`, not evaluated."""
    written = str(expression.value) if isinstance(expression, Constant) else expression.source.word(expression.node)
    words = written.strip('"`').replace(")", "").split("(")
    kind = tuple(_HOLDERS.get(word.strip(), word.strip()) for word in words)
    if kind[-1] in _HOLDERS.values():
        kind = (*kind, "any")
    if any(word not in _HOLDERS.values() for word in kind[:-1]) or kind[-1] not in _SCALARS:
        bad = next((word for word in kind[:-1] if word not in _HOLDERS.values()), kind[-1])
        hint = meant(bad, (*_SCALARS, *_HOLDERS))
        report.error(expression.where, f"unknown type '{bad[:40]}'", "unknown-type", hint)
        return ("any",)
    return kind


def _converted(value: Value, kind: Kind) -> Value:
    """The value as its type wants it; raises ValueError with what was wanted and found."""
    wanted, inner = kind[0], kind[1:]
    match wanted, value:
        case ("any", _) | ("string", str()) | ("bool", bool()):
            return value
        case "string", bool() | int() | float():
            return shown(value)
        case "number", int() | float() if not isinstance(value, bool):
            return value
        case "number", str():
            try:
                number = float(value)
                return int(value) if value.lstrip("+-").isdigit() and abs(number) < 2**63 else number
            except ValueError:
                pass
        case "bool", "true" | "false":
            return value == "true"
        case "list", list():
            return [_converted(item, inner) for item in value]
        case "map", dict():
            made = Object()
            made.update((key, _converted(item, inner)) for key, item in value.items())
            return made
    raise ValueError(f"{_WANTED[wanted]}, not {called(value)}")


def _read_value(text: str, where: Where, evaluate: Evaluate, report: Report) -> Value:
    """A list or map as it is written in a file, or as JSON, which reads alike."""
    block = parse(Text(where.file, f"value = {text}\n".encode()), inner := Report())
    found = block.attributes.get("value")
    if inner.problems or found is None or len(block.attributes) > 1 or block.blocks:
        hint = 'write it as in a file: ["a", "b"] or { a = 1 }'
        raise report.make(where, f"cannot read the value {text[:40]}", "syntax", hint)
    try:
        return evaluate(found.expression)
    except Problem as problem:
        raise report.make(where, problem.message, problem.code.removeprefix("config."), problem.hint) from None


def given_values(
    outside: Outside, environ: Mapping[str, str], known: Iterable[str], report: Report
) -> dict[str, Given]:
    """By name of a declared variable, the strongest value given for it."""
    known = set(known)
    found: dict[str, Given] = {}
    for text in outside.automatic:
        found |= _from_file(text, known, report)
    for name in known:
        spelled = environ.get(f"TAILRACE_VAR_{name}")
        if spelled is not None:
            found[name] = Given(spelled, Where(f"TAILRACE_VAR_{name}", 0, 0), spelled=True)
    for text in outside.files:
        found |= _from_file(text, known, report)
    for flag in outside.flags:
        name, equals, spelled = flag.partition("=")
        where = Where(f"--var {name.strip()}", 0, 0)
        if not equals:
            report.error(where, "has no value", "syntax", f"write --var {name}=value")
        elif name.strip() not in known:
            report.unknown(where, "variable", name.strip(), known)
        else:
            found[name.strip()] = Given(spelled, where, spelled=True)
    return found


def _from_file(text: Text, known: set[str], report: Report) -> dict[str, Given]:
    """HCL attributes, or a JSON object; names that no block declares are noted as such."""
    report.knows(text)
    found: dict[str, Given] = {}
    if text.data.lstrip().startswith(b"{"):
        try:
            values = json.loads(text.data)
            json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError) as error:
            report.error(text.where(getattr(error, "pos", 0)), f"not JSON: {error}", "syntax")
            return {}
        start = text.where(0)
        found = {name: Given(value, start) for name, value in values.items()}
    else:
        root = parse(text, report)
        for block in root.blocks:
            report.error(block.where, "a file of variables holds no blocks", "syntax", "write name = value")
        for name, attribute in root.attributes.items():
            found[name] = Given(attribute.expression, attribute.where)
    for name in found.keys() - known:
        hint = meant(name, known)
        report.warn(found[name].where, f"no variable '{name}' is declared", "unknown-variable", hint)
    return {name: given for name, given in found.items() if name in known}
