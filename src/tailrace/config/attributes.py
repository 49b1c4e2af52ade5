"""How attributes and blocks are declared, and how given values are checked against a declaration."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tailrace.config.functions import duration, size
from tailrace.config.places import Problem, Report, Where, meant
from tailrace.config.system_texts import without_nul
from tailrace.config.values import Reference, Secret, Setting, Settings, Value, called, is_block_reference, plain
from tailrace.core.registry import nearest

KIND_WORDS = {
    "text": "text",
    "texts": "list of texts",
    "names": "list of names",
    "flag": "true or false",
    "number": "number",
    "map": "map of texts",
    "duration": "duration",
    "time": "date or time",
    "size": "size",
    "command": "list of texts",
    "format": "format",
    "table": "table",
    "reference": "reference",
    "references": "list of references",
    "any": "value",
}
"Kinds of values, as the documentation calls them."
_WANTED = {
    "text": "a text",
    "texts": "a list of texts",
    "names": "a list of names",
    "flag": "true or false",
    "number": "a number",
    "map": "a map of texts",
    "duration": "a duration such as 7d",
    "time": "a date or a time",
    "size": "a size such as 512MB",
    "command": "a list of texts",
    "table": "a table",
}
_EXAMPLES = {
    "text": '"{}"',
    "texts": '["{}"]',
    "names": '["{}"]',
    "flag": "true",
    "number": "10",
    "map": '{{ name = "{}" }}',
    "duration": '"7d"',
    "time": '"2024-01-31"',
    "size": '"512MB"',
    "command": '["program", "argument"]',
    "table": "table.name",
}


@dataclass(frozen=True, slots=True)
class Attr:
    """One attribute: what kind of value it takes, and what it is for."""

    kind: str
    "One of KIND_WORDS."
    doc: str
    required: bool = False
    default: object = None
    "What holds when it is absent, where that is a plain value."
    choices: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    "Heads of the references that it takes: `connection`, `store` …"
    same_as: str = ""
    "The attribute of which this is another spelling."
    secret: bool = False
    active: bool = True
    "False = checked and shown, but nothing acts on it yet."
    least: float = 0
    "The smallest number; with `fraction` it need not be whole."
    fraction: bool = False


Attrs = Mapping[str, Attr]


@dataclass(frozen=True, slots=True)
class BlockType:
    """One kind of block, or one type of it (a kind of source, a type of sink)."""

    name: str
    doc: str
    attributes: Attrs = field(default_factory=dict)
    labels: tuple[str, ...] = ("name",)
    "What the labels mean."
    blocks: Mapping[str, BlockType] = field(default_factory=dict)
    "Blocks that may stand inside, by every word that they may begin with."
    types: Mapping[str, BlockType] = field(default_factory=dict)
    "Where the first label is a type: what each of them takes besides."
    synonyms: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    "One of these attributes has to be given."
    active: bool = True
    "False = checked and shown, but nothing acts on it yet."
    example: str = ""


def checked(
    given: Settings, declared: Attrs, report: Report, elsewhere: Mapping[str, str] | None = None
) -> dict[str, Value]:
    """Values by name, each of its declared kind; what does not fit is noted and left out, and so is null.

    `elsewhere`: hints for names that this block does not take, but another one does.
    """
    values: dict[str, Value] = {}
    for name, setting in given.items():
        if name not in declared:
            hint = (elsewhere or {}).get(name) or meant(name, declared)
            if any(attr.secret for attr in declared.values()):
                report.hide(setting.value)  # it may be one of them, misspelled
            report.error(setting.name_where, f"unknown attribute '{name}'", "unknown-attribute", hint)
            continue
        attr = declared[name]
        if setting.value is None:
            continue
        if attr.secret:
            report.hide(setting.value)
        if attr.same_as in given:
            message = f"'{name}' is another spelling of '{attr.same_as}'"
            report.error(setting.name_where, message, "contradiction", "keep one of them")
            continue
        try:
            value = without_nul(setting, fitted(setting, attr, report), report)
            values[attr.same_as or name] = _hidden(value, attr)
        except Problem as problem:
            report.add(problem)
        if not attr.active:
            not_active(report, setting.name_where, f"'{name}'")
    return values


NO_EFFECT = "it is checked and shown, but has no effect"
NOT_COLLECTED = "it is checked and shown, but partitions that need it cannot be collected"


def not_active(report: Report, where: Where, what: str, hint: str = NO_EFFECT) -> None:
    """Say that something is understood but does nothing yet."""
    report.warn(where, f"{what} is not active yet", "not-active", hint)


def filled(names: Collection[str], settings: Settings) -> set[str]:
    """Of the names that stand in a block, those with something in them, or with a mistake that was told before."""
    return {name for name in names if name not in settings or settings[name].value not in (None, "", [])}


def require(kind: BlockType, what: str, given: Collection[str], where: Where, report: Report) -> None:
    """Note attributes that a block must have and has not; see `filled`."""
    what = f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
    # One that is misspelt has been told; it is not missing as well.
    given = {nearest(name, kind.attributes) or name if name not in kind.attributes else name for name in given}
    for name, attr in kind.attributes.items():
        spellings = {name, *(other for other, how in kind.attributes.items() if how.same_as == name)}
        if attr.required and not spellings & given:
            report.error(where, f"{what} needs '{name}'", "missing-attribute", f"add {name} = …")
    if kind.either and not set(kind.either) & given:
        names = " or ".join(f"'{name}'" for name in kind.either)
        report.error(where, f"{what} needs {names}", "missing-attribute", f"add {kind.either[0]} = …")


def fitted(setting: Setting, attr: Attr, report: Report) -> Value:
    """The value as its attribute wants it (lists of texts become tuples); raises a Problem."""
    value, kind = setting.value, attr.kind
    match kind, value:
        case "format", _:
            return value
        case "any", _:
            no_bare_names(value, report)
            return plain(value)
        case (("reference" | "references" | "table"), _):
            return _references(setting, attr, report)
        case "text", str():
            return _chosen(setting, value, attr, report)
        case "flag", bool():
            return value
        case "number", int() | float() if not isinstance(value, bool):
            return _number(setting, value, attr, report)
        case (("duration" | "time" | "size"), str()):
            return _spelled(setting, value, kind, report)
        case "command", str():
            return _words(setting, value, report)
        case "texts" | "names", str():
            return (_chosen(setting, value, attr, report),)
        case "texts" | "names" | "command", list():
            names = [_word(item) if kind == "names" else item for item in value]
            if all(isinstance(name, str) for name in names):
                return tuple(_chosen(setting, str(name), attr, report) for name in names)
        case "map", dict():
            if all(isinstance(item, str) for item in value.values()):
                return dict(value)
    word = value if isinstance(value, Reference) else "…"
    hint = f"write {setting.name} = {_EXAMPLES[kind].format(word)}"
    raise _wrong(setting, _WANTED[kind], report, hint)


def no_bare_names(value: Value, report: Report) -> None:
    """Raise a Problem where a word stands that names nothing."""
    if isinstance(value, Reference) and not is_block_reference(value):
        raise report.make(value.where, f"unknown name '{value}'", "unknown-name", f'for a text, write "{value}"')
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        no_bare_names(inner, report)


def moment(text: str) -> datetime:
    """A date or a time, in UTC without zone; raises ValueError."""
    found = datetime.fromisoformat(text)
    offset = found.utcoffset()
    return found if offset is None else found.replace(tzinfo=None) - offset


def _wrong(setting: Setting, wanted: str, report: Report, hint: str | None = None) -> Problem:
    message = f"'{setting.name}' must be {wanted}, not {called(setting.value)}"
    return report.make(setting.where, message, "wrong-type", hint)


def _word(value: Value) -> Value:
    return value.path[0] if isinstance(value, Reference) and len(value.path) == 1 else value


def _hidden(value: Value, attr: Attr) -> Value:
    """Texts of a secret attribute, wrapped."""
    if not attr.secret:
        return value
    if isinstance(value, dict):
        return {key: _hidden(inner, attr) for key, inner in value.items()}
    return Secret(value) if isinstance(value, str) else value


def _chosen(setting: Setting, value: str, attr: Attr, report: Report) -> str:
    if attr.choices and value not in attr.choices:
        wanted = " or ".join((", ".join(attr.choices[:-1]), attr.choices[-1])) if attr.choices[1:] else attr.choices[0]
        usual = attr.default if attr.default in attr.choices else attr.choices[0]
        word = f'"{nearest(value, attr.choices) or usual}"'
        hint = f"write {setting.name} = {f'[{word}]' if attr.kind == 'texts' else word}"
        raise report.make(setting.where, f"'{setting.name}' must be {wanted}, not '{value}'", "wrong-value", hint)
    return value


def _number(setting: Setting, value: float, attr: Attr, report: Report) -> Value:
    if not attr.least <= value < math.inf:
        wanted, instead = f"at least {attr.least:g}, not {value:g}", attr.default or attr.least
    elif not attr.fraction and value != int(value):
        wanted, instead = f"a whole number, not {value}", max(round(value), math.ceil(attr.least))
    else:
        return value if attr.fraction else int(value)
    message, hint = f"'{setting.name}' must be {wanted}", f"write {setting.name} = {instead}"
    raise report.make(setting.where, message, "wrong-value", hint)


def _spelled(setting: Setting, value: str, kind: str, report: Report) -> str:
    """A duration, a time or a size stays the text that was given, once it is known to be one."""
    try:
        if kind == "duration":
            if duration(value).total_seconds() < 0:
                raise ValueError(f"'{value}' is negative; a duration looks like 90s, 15m, 168h or 7d")
        elif kind == "time":
            moment(value)
        else:
            size(value)
    except (ValueError, OverflowError) as error:
        told = f"'{value}' is not a date or a time; write it as 2024-01-31 or 2024-01-31T15:04:05Z"
        message = f"'{setting.name}': {told if kind == 'time' else error}"
        message, _, hint = message.partition("; ")
        raise report.make(setting.where, message, f"bad-{kind}", hint or None) from None
    return value


def _words(setting: Setting, value: str, report: Report) -> tuple[str, ...]:
    """A command line as its words; it is never given to a shell."""
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        hint = 'write it as a list: ["program", "argument"]'
        raise report.make(setting.where, f"'{setting.name}': {error}", "bad-command", hint) from None


def _references(setting: Setting, attr: Attr, report: Report) -> Value:
    if attr.kind == "table" and isinstance(setting.value, str):
        return setting.value
    many = attr.kind == "references"
    items = setting.value if many and isinstance(setting.value, list) else [setting.value]
    for item in items:
        if not isinstance(item, Reference) or item.path[0] not in attr.to:
            wanted = f"a {attr.to[0]}{' or a list of them' if many else ''}"
            message = f"'{setting.name}' must be {wanted}, not {called(item)}"
            two = "type.name" if attr.to[0] in ("connection", "source") else "name"
            block = f'source "{item}" {{ … }}, or ' if attr.to[0] == "source" and isinstance(item, str) else ""
            raise report.make(setting.where, message, "wrong-type", f"write {block}{attr.to[0]}.{two}")
    return tuple(items) if many else items[0]
