"""Secrets stay where they are: whatever this process prints about errors passes through here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.config.values import Secret
    from tailrace.core.errors import TailraceError

HIDDEN = "***"
SHORTEST = 4
"Characters: a shorter secret would star out half of every sentence."
_WITH_VALUES = ("--var", "--spark-conf")
_KNOWN: set[str] = set()


def remember(values: Iterable[object], texts: Iterable[str] = ()) -> None:
    """From now on those texts, and all secrets among the values, are hidden wherever a library may quote them."""
    # Not at the top: `--help` needs this module, but no configuration.
    from tailrace.config.values import Secret

    found = [*texts, *(text for value in values for text in _secrets(value, Secret))]
    _KNOWN.update(text for text in found if len(text) >= SHORTEST)


def redacted(text: str) -> str:
    """The text without any secret that has been read so far."""
    for secret in sorted(_KNOWN, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if "://" not in text:
        return text
    from tailrace.config.secrets import without_url_secrets

    return without_url_secrets(text, HIDDEN)


def visible(text: str) -> str:
    """What people are told: without secrets, and without characters that a terminal would obey instead of showing.

    Whoever names a file, a bucket or an object may put any into its name. Line ends stay.
    """
    return "\n".join(map(escaped, redacted(text).split("\n")))


def visible_line(text: str) -> str:
    """A name or a place: no line end in it begins a line that seems to be ours."""
    return escaped(redacted(text))


def visible_error(error: TailraceError) -> str:
    """Its place, if it has one, and what happened."""
    place = f"{visible_line(error.where)}: " if error.where else ""
    return place + visible(error.message)


def escaped(text: str) -> str:
    """With backslashes in place of what cannot be seen."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def command_line(arguments: Sequence[str]) -> str:
    """The command as it is kept in the lake's history: without the values of variables and secret settings."""
    shown, previous = [], ""
    for argument in arguments:
        option, joined, value = argument.partition("=")
        if previous in _WITH_VALUES:
            argument = _without_value(previous, argument)
        elif joined and option in _WITH_VALUES:
            argument = f"{option}={_without_value(option, value)}"
        shown.append(argument)
        previous = argument
    return redacted(shlex.join(["tailrace", *shown]))


def _without_value(option: str, pair: str) -> str:
    from tailrace.config.secrets import SECRET_NAME

    name, _, value = pair.partition("=")
    return f"{name}={HIDDEN if option == '--var' or SECRET_NAME.search(name) else value}"


def _secrets(value: object, secret: type[Secret]) -> Iterable[str]:
    if isinstance(value, str | int):
        return  # most of all values
    if isinstance(value, secret):
        yield value.reveal()
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _secrets(inner, secret)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner, secret)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _secrets(getattr(value, field.name), secret)
