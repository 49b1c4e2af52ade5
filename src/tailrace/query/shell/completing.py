"""What may stand where the cursor is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.lake.quoting import quoted
from tailrace.query.shell.commands import COMMANDS, SHOWN_FORMS
from tailrace.query.shell.names import Names
from tailrace.query.tokens import Token, tokens

_CHAIN = re.compile(r'((?:(?:"[^"]*"|\w+)\.)*)("?)(\w*)$')
_BEFORE_TABLE = frozenset({"from", "join", "into", "describe", "desc", "summarize", "show", "table", "update", "pivot"})
_ENDS_FROM = frozenset(
    {"where", "group", "order", "having", "limit", "select", "union", "on", "using", "set", "qualify"}
)
_NO_ALIAS = _ENDS_FROM | frozenset({
    "join", "left", "right", "full", "inner", "cross", "natural", "semi", "anti", "asof", "positional", "as", "from",
    "except", "intersect", "window", "offset", "sample", "tablesample", "fetch", "for", "pivot", "unpivot",
})  # fmt: skip
_BARE = re.compile(r"[a-z_][a-z0-9_]*")
_MOST = 200
_WORDS_FROM = 1
"Letters after which functions and words of SQL are offered: without any there are too many."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text in place of the last `replaced` characters before the cursor."""

    text: str
    replaced: int
    kind: str


def complete(before: str, after: str, names: Names) -> list[Candidate]:
    """Candidates for the place between two texts, the most likely first."""
    if before.lstrip().startswith("."):
        return list(_command(before.lstrip(), names))
    before, after = _statement(before, after)
    if _is_in_text(before):
        return []
    found = _CHAIN.search(before)
    assert found is not None
    path = [part.strip('"') for part in re.findall(r'"[^"]*"|\w+', found[1])]
    opened, word = found[2], found[3]
    said = tokens(before[: found.start()])
    typed = len(opened) + len(word)
    offered = _after_dot(path, said, after, names) if path else _anything(said, after, word, names)
    return _fitting(offered, word, typed, bool(opened))


def _fitting(offered: Iterable[tuple[str, str]], word: str, typed: int, is_quoted: bool) -> list[Candidate]:
    folded, seen, found = word.lower(), set(), []
    shouts = word.isupper() and len(word) > 1
    for name, kind in offered:
        if not name.lower().startswith(folded) or (name, kind) in seen:
            continue
        seen.add((name, kind))
        if kind in ("keyword", "function"):
            text = name.upper() if shouts and kind == "keyword" else name
        else:
            text = name if _BARE.fullmatch(name.lower()) and not is_quoted else quoted(name)
        found.append(Candidate(text, typed, kind))
        if len(found) == _MOST:
            break
    return found


def _command(text: str, names: Names) -> Iterator[Candidate]:
    """Commands of the shell, and what may follow them."""
    name, blank, rest = text.partition(" ")
    if not blank:
        yield from (Candidate(known, len(name), "command") for known in COMMANDS if known.startswith(name))
        return
    word = rest.rpartition(" ")[2]
    offered: Sequence[str] = ()
    if name in (".inspect", ".schema", ".tables"):
        offered = names.tables()
    elif name == ".output":
        offered = SHOWN_FORMS
    elif name in (".timing", ".header"):
        offered = ("on", "off")
    elif name in (".open", ".read", ".export"):
        offered = _files(word)
    yield from (Candidate(each, len(word), "argument") for each in offered if each.startswith(word))


def _files(word: str) -> list[str]:
    directory, slash, _ = word.rpartition("/")
    try:
        entries = sorted(Path(directory + slash or ".").expanduser().iterdir())[:_MOST]
    except OSError:
        return []
    return [f"{directory}{slash}{entry.name}{'/' if entry.is_dir() else ''}" for entry in entries]


def _statement(before: str, after: str) -> tuple[str, str]:
    """The part of either text that belongs to the statement at the cursor."""
    ends = [token.end for token in tokens(before) if token.text == ";"]
    start = len(before.encode()[: ends[-1]].decode()) if ends else 0
    return before[start:], after.partition(";")[0]


def _is_in_text(before: str) -> bool:
    """Within quotes of a text, or a comment."""
    line = before.rpartition("\n")[2]
    last = next(iter(reversed(tokens(before))), None)
    if last is not None and last.kind == "string_const" and last.end == len(before.encode()):
        quote = last.text.lstrip("eExX")[:1]
        return quote == "'" and (len(last.text) == 1 or last.text.count("'") % 2 == 1)
    return "--" in line and "'" not in line


# What is offered, as (name, kind)


def _anything(said: Sequence[Token], after: str, word: str, names: Names) -> Iterator[tuple[str, str]]:
    if _wants_table(said):
        yield from ((name, "table") for name in names.tables())
        yield from ((name, "schema") for name in names.schemas())
        yield from ((name, "table") for name in _with_names(said))
        return
    tables = _tables_of(said, after)
    for alias, table in tables.items():
        yield from names.fields(table)
        if alias != table:
            yield alias, "alias"
    if len(word) < _WORDS_FROM and tables:
        return
    yield from ((name, "keyword") for name in names.keywords())
    yield from ((name, "function") for name in names.functions())
    if not tables:
        yield from ((name, "table") for name in names.tables())


def _after_dot(path: Sequence[str], said: Sequence[Token], after: str, names: Names) -> Iterator[tuple[str, str]]:
    tables = _tables_of(said, after)
    first = path[0].lower()
    if first in tables:
        yield from names.fields(tables[first], path[1:])
    elif len(path) == 1 and first in (schema.lower() for schema in names.schemas()):
        yield from ((name, "table") for name in names.tables(path[0]))
    else:
        for table in dict.fromkeys(tables.values()):
            yield from names.fields(table, path)


def _wants_table(said: Sequence[Token]) -> bool:
    """After `from`, `join` and the like, and after a comma in such a list."""
    if not said:
        return False
    if said[-1].word in _BEFORE_TABLE:
        return True
    if said[-1].text != ",":
        return False
    depth = 0
    for token in reversed(said):
        depth += (token.text in ")]}") - (token.text in "([{")
        if depth < 0 or (depth == 0 and token.word in _ENDS_FROM):
            return False
        if depth == 0 and token.word == "from":
            return True
    return False


def _with_names(said: Sequence[Token]) -> Iterator[str]:
    """`with x as (…)`."""
    for name, follows, opens in zip(said, said[1:], said[2:], strict=False):
        if follows.word == "as" and opens.text == "(":
            yield name.content


def _tables_of(said: Sequence[Token], after: str) -> dict[str, str]:
    """Tables that the statement names after `from` and `join`, by alias or by their own name."""
    found: dict[str, str] = {}
    every = [*said, *tokens(after)]
    place, is_list = 0, False
    while place < len(every):
        token = every[place]
        place += 1
        if token.word in ("from", "join") or (is_list and token.text == ","):
            table, place = _name_at(every, place)
            alias, place = _alias_at(every, place)
            if table:
                found[(alias or table).lower()] = table
            is_list = True
        elif token.word in _ENDS_FROM or token.text in ("(", ")"):
            is_list = False
    return found


def _name_at(every: Sequence[Token], place: int) -> tuple[str, int]:
    """The last part of `schema.table`."""
    name = ""
    while place < len(every) and (every[place].text.startswith('"') or re.fullmatch(r"\w+", every[place].text)):
        name = every[place].content
        place += 1
        if place < len(every) and every[place].text == ".":
            place += 1
        else:
            break
    return name, place


def _alias_at(every: Sequence[Token], place: int) -> tuple[str, int]:
    if place < len(every) and every[place].word == "as":
        place += 1
    if place < len(every) and re.fullmatch(r'\w+|"[^"]*"', every[place].text) and every[place].word not in _NO_ALIAS:
        return every[place].content, place + 1
    return "", place
