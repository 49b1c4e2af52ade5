"""Which statements may run. DuckDB itself keeps a sandbox from other files; it cannot keep SQL from writing the lake's.

A statement is judged by its words, wherever they stand: `explain analyze`, `prepare` and `with x as (copy …)` run what
they hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tailrace.core.directories import cache_directory
from tailrace.core.errors import QueryError
from tailrace.lake.table_place import links
from tailrace.query.limits import BY_TEXT, Limits
from tailrace.query.path_spellings import is_elsewhere, path_of, paths_in
from tailrace.query.tokens import Token, tokens

if TYPE_CHECKING:
    import duckdb

    from tailrace.lake.paths import Lake

_LOOKS = frozenset({"SELECT", "MULTI"})
"Kinds of statement that only read; `MULTI` is a pivot."
_SELECTS = frozenset(
    {"select", "from", "with", "values", "table", "pivot", "unpivot", "describe", "desc", "show", "summarize", "("}
)
"What a statement begins with that only reads."
_KINDS = {"import": "PRAGMA", "reset": "SET"}
"DuckDB's words for statements, where they are not the first words of them."
_EXPLAINS = frozenset({"explain", "analyze", "analyse", "verbose"})
_GOES_ON = frozenset({"union", "except", "intersect", "order", "limit", "offset"})
"What may follow a select in brackets."
_CHANGES = {"insert": ("into", "or"), "delete": ("from",), "merge": ("into",), "update": (), "copy": ()}
"Words that begin a change, and what may follow where the word could be a name too."
_NAMING = frozenset({"summarize", "describe", "desc", "show", "table", "pivot", "unpivot", "pivot_wider"})
"Words after which a text of any kind may be the name of a file; after `from` only those in plain quotes are."
_BEFORE = frozenset({"(", ")", "as", "materialized", "explain", "analyze"})
_READERS = re.compile(
    r"read_\w+|parquet_\w+|\w*_?scan\w*|glob|sniff_csv|query|query_table|json_execute_serialized_sql|python_\w+"
    r"|\w*external_resource\w*|which_secret|duckdb_secrets|\w+_logging|\w+_profil\w+|checkpoint|force_checkpoint"
)
"Functions that reach for files, or run texts as SQL."
_OUTPUTS = re.compile(r"\w*profil\w*_output|profile_output|log_query_path|storage_path|storage_config|import_database")
"Settings and arguments that name a file to be written, or SQL that nobody has looked at."
_FILED = frozenset({"persistent", "local_file"})
_DIRECTORIES = frozenset({"temp_directory", "secret_directory", "home_directory", "extension_directory"})
"Settings that name a directory in which DuckDB writes."
_ATTACH = frozenset({"attach", "database", "if", "not", "exists", "or", "replace"})
_SETTINGS = frozenset({"SET", "PRAGMA", "CALL"})
_WILD = frozenset("*?[")
_UNBOUND = "without --sandbox it may run"
_LOGGING = "enable_logging"
"A function that changes settings, wherever it is called."


class Permission:
    """Of the statements of one engine. Nothing of the lake is ever written, whatever may be.

    `connection` tells what a statement is to DuckDB, `names` how tables and schemas are called.
    """

    def __init__(
        self, limits: Limits, lake: Lake, connection: duckdb.DuckDBPyConnection, names: Callable[[], Iterable[str]]
    ) -> None:
        self.limits = limits
        self.lake = lake
        self.connection = connection
        self.names = names
        self.writable = [os.path.realpath(os.path.expanduser(path)) for path in limits.writable]

    @cached_property
    def kept(self) -> list[str]:
        """What belongs to the lake; asked for when something is to be written."""
        return [os.path.realpath(directory) for directory in kept_of(self.lake)]

    def require(self, text: str, kind: str) -> None:
        """Raises where the statement does more than it may; `kind` is DuckDB's word for it."""
        found: Sequence[Token] = tokens(text)
        while kind == "EXPLAIN":  # with `analyze` it is run
            found = _explained(found)
            kind = _kind(found)
        if self.limits.sandboxed:
            self._require_looks(found, kind)
            self._require_known(text.encode()[found[0].start :].decode() if found else "")
            return
        for target in _copied_to(found):
            self._require_writable(target)
            _require_plain_names(found)
        if kind == "EXPORT":
            words = [token.word for token in found]
            self._require_writable(_after(found, "to" if "to" in words else "database"))
        elif kind == "ATTACH":
            self._require_attachable(found)
        elif kind == "PRAGMA" and _first(found) == "import":
            raise _refused("`import database` runs SQL that stands in files", "name them: tailrace query FILE…")
        elif kind in _SETTINGS or _LOGGING in map(_name, found):
            self._require_harmless(found)
        elif _is_kept_secret(found):
            raise _refused("a persistent secret is a file", "leave `persistent` out: it is forgotten with the command")

    def require_outside(self, path: str) -> None:
        """An answer is never written over the lake."""
        if self._is_kept(os.path.abspath(path)):
            raise _refused(f"{path} belongs to the lake, which no query changes", "choose another place")

    # A sandbox

    def _require_looks(self, found: Sequence[Token], kind: str) -> None:
        hint = _UNBOUND
        if kind not in _LOOKS:
            raise _refused(f"a sandbox only looks at tables: no {_first(found)}", hint)
        for before, token, after in _triples(found):
            if token.word in _CHANGES and _begins_change(before, token, after):
                raise _refused(f"a sandbox only looks at tables: no {token.word}", hint)
            name = token.word or (token.content.lower() if token.text.startswith('"') else "")
            if after is not None and after.text == "(" and _READERS.fullmatch(name):
                raise _refused(f"a sandbox only looks at tables: {name} reads other things", hint)
            if name in BY_TEXT and before is not None and before.text == ".":
                raise _refused(f"a sandbox looks at tables by their names: {name} has to stand without a prefix", hint)
            if _is_unread(token) and before is not None and before.word in _NAMING:
                raise _refused("a sandbox looks at tables by their names, not by texts", hint)
        # DuckDB may open the lake's files, and would by their paths too: rows that options leave out are in them.
        if any(map(self._is_kept, paths_in(found))):
            raise _refused("a sandbox looks at tables by their names, not at the lake's files", hint)

    def _require_known(self, text: str) -> None:
        """As DuckDB's parser has it, however it is spelled."""
        from tailrace.query.parsed import objection

        names = {name.lower() for name in self.names()}
        why = objection(self.connection, text, lambda name: name.lower() in names)
        if why is not None:
            raise _refused(f"a sandbox only looks at tables: {why}", _UNBOUND)

    # Elsewhere

    def _require_harmless(self, found: Sequence[Token]) -> None:
        """Settings that name files and directories."""
        names = set(map(_name, found))
        if any(map(_OUTPUTS.fullmatch, names)):
            raise _refused("this makes DuckDB write files of its own", "--timing and `explain analyze` tell as much")
        if names.isdisjoint(_DIRECTORIES) or _first(found) == "reset":
            return
        *_, sign, value = [token for token in found if token.text != ";"]
        if sign.text.lower() not in ("=", "to") or not value.is_quoted or value.text[0] not in "'\"":
            raise _refused("a directory has to be named by a text in quotes", "write 'DIRECTORY' in its place")
        if value.content:
            self.require_outside(path_of(value.content))

    def _require_attachable(self, found: Sequence[Token]) -> None:
        target = next((token for token in found if token.word not in _ATTACH), None)
        if target is not None and target.content == ":memory:":
            return
        for _, token, after in _triples(found):
            if token.word == "read_only" and after is not None and after.text.lower() in (")", ",", "true"):
                return
        self._require_writable(target, "or attach it (read_only)")

    def _require_writable(self, target: Token | None, otherwise: str = "") -> None:
        """A file that is named, or in a directory that is; never one of the lake's."""
        if target is None or not target.is_quoted or target.text[0] not in "'\"":
            raise _refused("what is written has to be named by a text in quotes", "write 'FILE' in its place")
        path = path_of(target.content)
        if self._is_kept(path) or (is_elsewhere(path) and self._is_kept(path_of(path.partition(":")[2]))):
            raise _refused(f"{target.content} belongs to the lake, which no SQL changes", "choose another place")
        named = map(os.path.normpath, self.limits.writable) if is_elsewhere(path) else self.writable
        path = os.path.normpath(path) if is_elsewhere(path) else os.path.realpath(path)
        if not any(path == allowed or path.startswith(allowed + os.sep) for allowed in named):
            hint = f"allow it with --write {target.content}"
            raise _refused(f"SQL may not write {target.content}", f"{hint}, {otherwise}" if otherwise else hint)

    def _is_kept(self, path: str) -> bool:
        if os.sep not in path and _WILD.isdisjoint(path) and not os.path.exists(path):
            return False
        real = os.path.realpath(path)
        return any(real == directory or real.startswith(directory + os.sep) for directory in self.kept)


def kept_of(lake: Lake) -> list[str]:
    """Directories in which no query writes: all workspaces of the home, and where else the lake lies."""
    elsewhere = [str(root) for root in (lake.data_root, lake.meta_root) if root.is_local]
    tiers = [str(tier.place) for tier in lake.tiers if tier.place.is_local]
    own = (f"{lake.home}/{part}" for part in ("data", "meta", "snapshots", "config"))
    # Files of a lake in an object store, those of other queries too.
    fetched = str(cache_directory() / "lake")
    return [*own, fetched, *elsewhere, *tiers, *_linked(lake)]


def _linked(lake: Lake) -> Iterator[str]:
    """Where days of its tables rest on disk, be it without a configuration at hand."""
    root = lake.data_root
    for name in root.folders() if root.is_local else ():
        real = (os.path.realpath((root / name).address(link)) for link in links(root / name))
        yield from map(os.path.dirname, real)  # a link leads to the table's directory in the tier


def _refused(message: str, hint: str) -> QueryError:
    return QueryError(message, code="query.not-allowed", hint=hint)


def _first(found: Sequence[Token]) -> str:
    return found[0].word if found else "such statement"


def _explained(found: Sequence[Token]) -> Sequence[Token]:
    """What stands after `explain`, `analyze` and options in brackets, or is in brackets itself."""
    place = next((n for n, token in enumerate(found) if token.word not in _EXPLAINS), len(found))
    rest = found[place:]
    if not rest or rest[0].text != "(":
        return rest
    depth = 0
    for number, token in enumerate(rest):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            after = rest[number + 1 :]
            is_select = not after or after[0].text == ";" or after[0].word in _GOES_ON
            return rest if is_select else after
    return rest


def _kind(found: Sequence[Token]) -> str:
    """DuckDB's word for a statement, by its first one."""
    word = found[0].text.lower() if found else ""
    return "SELECT" if word in _SELECTS else _KINDS.get(word, word.upper())


def _is_kept_secret(found: Sequence[Token]) -> bool:
    """`create persistent secret`, or one in a storage that is a file."""
    words = [_name(token) for token in found]
    return _first(found) in ("create", "drop") and "secret" in words[:6] and not _FILED.isdisjoint(words)


def _name(token: Token) -> str:
    """As DuckDB compares names; a text may stand for one."""
    return token.word or token.content.lower()


def _is_unread(token: Token) -> bool:
    """A text in other quotes than plain ones, E'…' or $$…$$: what it says is DuckDB's to know."""
    return token.is_quoted and token.text[0] not in "'\""


def _triples(found: Sequence[Token]) -> Iterator[tuple[Token | None, Token, Token | None]]:
    """Each token with those beside it."""
    yield from zip((None, *found[:-1]), found, (*found[1:], None), strict=True)


def _begins_change(before: Token | None, token: Token, after: Token | None) -> bool:
    """`(insert into …`; a column may be called `update`."""
    if before is not None and before.text.lower() not in _BEFORE:
        return False
    following = _CHANGES[token.word]
    if after is None or (following and after.word not in following):
        return False
    return after.is_quoted or after.text == "(" or (after.text[0].isalpha() or after.text[0] == "_")


def _after(found: Sequence[Token], word: str) -> Token | None:
    return next((after for _, token, after in _triples(found) if token.word == word), None)


def _require_plain_names(found: Sequence[Token]) -> None:
    """Files of a directory that is written may have names of their own, but lie in it."""
    pattern = _after(found, "filename_pattern")
    if pattern is not None and os.sep in pattern.text:
        raise _refused("a filename_pattern is the name of a file, not a path", "name the directory after `to`")


def _copied_to(found: Sequence[Token]) -> Iterator[Token | None]:
    """What stands after `to` of each `copy … to`; a column may be called `copy`."""
    for place, token in enumerate(found):
        if token.word != "copy" or [t.word for t in found[place + 1 : place + 3]] == ["from", "database"]:
            continue  # or from one database into another: it was attached
        begins = place == 0 or found[place - 1].text.lower() in _BEFORE
        target = _target(found[place + 1 :])
        if target is not None and (begins or target.is_quoted):
            yield target


def _target(rest: Sequence[Token]) -> Token | None:
    """The token after the first `to` that stands in no further brackets."""
    depth = 0
    for _, token, after in _triples(rest):
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return None
        if depth == 0 and token.word == "to":
            return after
    return None
