"""A table's Delta log as files: what its commits removed, and making it shorter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from tailrace.core.errors import one_line
from tailrace.lake.damage import CHECKPOINT, COMMIT, LOG, commit_name, damaged_log, version_of, writing_log
from tailrace.lake.place import Place
from tailrace.lake.steps import reached
from tailrace.lake.versions import moment

if TYPE_CHECKING:
    from deltalake import DeltaTable

CHECKPOINT_BEHIND = 10
"Versions since the last checkpoint that make another one worth while."
_NUMBERED = re.compile(r"\d{20}")


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """One version, as its file tells it."""

    version: int
    at: datetime
    partition: str | None
    "None: it was none of ours."
    sequence: int
    removed: tuple[tuple[str, datetime], ...]
    "Paths of data files, and when they were removed."


def logged(root: Place, after: int = -1) -> Iterator[LoggedCommit]:
    """All commits behind a version whose files are still there, in order."""
    log = root / LOG
    for version in _versions(log.names(commit_name(after) if after >= 0 else ""), COMMIT):
        try:
            lines = log.read(commit_name(version)).splitlines()
        except FileNotFoundError:  # too old: another process has written a checkpoint meanwhile
            continue
        actions = _actions(root, version, lines)
        info: dict[str, Any] = next((a["commitInfo"] for a in actions if "commitInfo" in a), {})
        removed = (action["remove"] for action in actions if "remove" in action)
        yield LoggedCommit(
            version,
            moment(info.get("timestamp") or 0),
            info.get("tailrace.partition"),
            int(info.get("tailrace.sequence") or 0),
            tuple((unquote(r["path"]), moment(r.get("deletionTimestamp") or 0)) for r in removed),
        )


def _actions(root: Place, version: int, lines: list[bytes]) -> list[dict[str, Any]]:
    """What a commit says; of one that says nothing nobody knows which files it removed."""
    why = "the commit is empty"
    try:
        actions = [msgspec.json.decode(line, type=dict[str, Any]) for line in lines if line.strip()]
    except msgspec.DecodeError as error:
        actions, why = [], one_line(error)
    if not actions:
        raise damaged_log(root, why, commit_name(version))
    return actions


def behind(root: Place, version: int) -> int:
    """Versions since the last checkpoint: so many files every reader opens."""
    return version - max(_versions((root / LOG).names(), CHECKPOINT), default=-1) - 1


def checkpoint(delta: DeltaTable, root: Place) -> int:
    """Writes down what holds in the version at hand, and drops commits that are too old to go back to: how many."""
    with writing_log(root):
        delta.create_checkpoint()
    before = len((root / LOG).names())
    with writing_log(root):
        delta.cleanup_metadata()
    return before - len((root / LOG).names())


def forget_versions(delta: DeltaTable, root: Place) -> None:
    """Nothing before the version at hand can be seen or restored any more, of the whole table.

    Old commits hold least and greatest values of the columns of files that are gone. The caller holds the locks of all
    partitions of the table.
    """
    log = root / LOG
    with writing_log(root):
        delta.create_checkpoint()
    reached("log-checkpointed")
    names = log.names()
    last = delta.version()
    # The oldest first: whenever this ends, what is left is whole from the checkpoint on.
    log.delete(commit_name(version) for version in _versions(names, COMMIT) if version < last)
    reached("log-shortened")
    log.delete(name for name in names if _is_old(name, last) and not name.endswith(".json"))


def _versions(names: list[str], kind: re.Pattern[str]) -> list[int]:
    """Of whole files: what a writer had begun when it was killed has `#1` behind its name."""
    return [version_of(name) for name in names if kind.fullmatch(name)]


def _is_old(name: str, last: int) -> bool:
    return _NUMBERED.match(name) is not None and version_of(name) < last
