"""What expressions evaluate to, and how people call it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.config.places import Where

REFERENCES = frozenset(
    {
        "connection",
        "format",
        "source",
        "table",
        "partition",
        "collection",
        "workspace",
        "store",
        "tier",
        "schema",
        "dataset",
    }
    | {"sink", "listener", "window"}
)
"Heads of names that point at blocks."

Value = object
"str, int, float, bool, None, list, Object or Reference."


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that is not a text: `connection.aws.prod`, or a bare word."""

    path: tuple[str, ...]
    where: Where = field(compare=False)

    def __str__(self) -> str:
        return ".".join(self.path)


class Object(dict[str, Value]):
    """A map that remembers where each of its keys and values stands."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, tuple[Where, Where]] = {}


class Secret:
    """A text that never shows itself: not in a repr, not in a log, not in an error."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the call that needs it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(("Secret", self._text))

    def __reduce__(self) -> tuple[object, ...]:
        return (Secret, (self._text,))


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that was given for a name, and where."""

    name: str
    value: Value
    name_where: Where
    where: Where


Settings = dict[str, Setting]


def settings_of(given: dict[str, Value], setting: Setting) -> Settings:
    """The entries of a map as if they were attributes; a computed map stands where its attribute does."""
    places = given.places if isinstance(given, Object) else {}
    here = (setting.where, setting.where)
    return {name: Setting(name, value, *places.get(name, here)) for name, value in given.items()}


def plain(value: Value) -> Value:
    """The same value in ordinary dicts and lists."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def called(value: Value) -> str:
    """A value's kind in words."""
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, Reference):
        return f"the name {value}"
    names = {
        str: "a text",
        int: "a number",
        float: "a number",
        list: "a list",
        Object: "a map",
        type(None): "null",
    }
    return names.get(type(value), "a map")


def shown(value: Value) -> str:
    """A scalar as it appears inside a text; raises ValueError for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"{called(value)} cannot stand in a text")


def is_block_reference(value: Value) -> bool:
    """Does the value name a block, such as `connection.aws.prod`?"""
    return isinstance(value, Reference) and value.path[0] in REFERENCES
