"""What a collection tells: as it goes, and in the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Protocol

from tailrace.core import TailraceError
from tailrace.pipeline.job import Counts

if TYPE_CHECKING:
    from tailrace.pipeline.compact_report import CompactionReport


@dataclass(slots=True)
class Trouble:
    """Something that went wrong without stopping the rest."""

    where: str
    message: str
    code: str = "source"
    hint: str | None = None


@dataclass(slots=True)
class PartitionReport:
    """One partition in one run."""

    name: str
    run: str = ""
    "Its id; none before there is something to read."
    discovered: int = 0
    "Artifacts that the sources hold in the range."
    unchanged: int = 0
    "Artifacts that had been collected before."
    wanted: int = 0
    wanted_bytes: int = 0
    done: int = 0
    done_bytes: int = 0
    failed: int = 0
    partial: int = 0
    kept: int = 0
    "Artifacts that are left as they were stored: fewer of their rows could be read now."
    unmatched: int = 0
    "Files that do not match `file_layout`."
    announced: bool = False
    "A source tells what is new: that there is nothing is no news."
    counts: Counts = field(default_factory=Counts)
    replaced: int = 0
    "Rows of earlier runs in whose place some of the stored ones are, or nothing."
    files: int = 0
    bytes: int = 0
    "Size of the files written."
    days: int = 0
    seconds: float = 0.0
    first_day: str | None = None
    last_day: str | None = None
    dates: frozenset[date] = frozenset()
    "Days that files were written for."
    compaction: CompactionReport | None = None
    "What was merged afterwards, if anything."
    troubles: list[Trouble] = field(default_factory=list)
    advice: list[Trouble] = field(default_factory=list)
    "Nothing went wrong, but somebody should know."
    error: TailraceError | None = None
    "Why the partition could not be collected at all."
    interrupted: bool = False
    "It was stopped before its end; what is counted here has been committed."

    @property
    def clean(self) -> bool:
        return self.error is None and not self.troubles

    def as_dict(self) -> dict[str, object]:
        counts = {n: getattr(self.counts, n) for n in self.counts.__struct_fields__}
        return {
            "partition": self.name,
            "artifacts": {
                "discovered": self.discovered,
                "unchanged": self.unchanged,
                "collected": self.done - self.failed - self.kept,
                "partial": self.partial,
                "failed": self.failed,
                "kept": self.kept,
                "unmatched": self.unmatched,
                "bytes": self.done_bytes,
            },
            "rows": {**counts, "replaced": self.replaced},
            "files": self.files,
            "bytes": self.bytes,
            "days": self.days,
            "first_day": self.first_day,
            "last_day": self.last_day,
            "compaction": None if self.compaction is None else self.compaction.as_dict(),
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "error": None if self.error is None else {"code": self.error.code, "message": str(self.error)},
            "troubles": [asdict(t) for t in self.troubles],
            "advice": [asdict(t) for t in self.advice],
        }


@dataclass(slots=True)
class ReplayReport:
    """What became of quarantined records of one partition."""

    name: str
    tried: int = 0
    "Records that were decoded again, by themselves or with their artifact."
    stored: int = 0
    filtered: int = 0
    out_of_range: int = 0
    deleted: int = 0
    "They lie in a range that was deleted."
    duplicates: int = 0
    "Rows of the same key are stored."
    passed_over: int = 0
    "No records by today's format: comments, headers, blank lines."
    quarantined: int = 0
    "They still do not fit."
    left: int = 0
    "Not tried, because they can only be read with their artifact."
    artifacts: int = 0
    "Artifacts that were read again as a whole."
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    troubles: list[Trouble] = field(default_factory=list)
    advice: list[Trouble] = field(default_factory=list)
    error: TailraceError | None = None


class Progress(Protocol):
    """Is told whenever a partition's report has changed."""

    @property
    def notes(self) -> str | None:
        """Directory in which tasks are to note how far they are, if it is read."""
        ...

    def update(self, report: PartitionReport) -> None: ...


class Silent:
    """Shows nothing."""

    notes: str | None = None

    def update(self, report: PartitionReport) -> None:
        return


class Several:
    """Tells all of them."""

    def __init__(self, *told: Progress | None) -> None:
        self.told = [each for each in told if each is not None]
        self.notes = next((each.notes for each in self.told if each.notes is not None), None)

    def update(self, report: PartitionReport) -> None:
        for each in self.told:
            each.update(report)
