"""What a compaction tells: as it goes, and in the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Protocol

from tailrace.core import TailraceError
from tailrace.lake.compacting import Swap
from tailrace.pipeline.report import Trouble


@dataclass(slots=True)
class CompactionReport:
    """One partition in one run; what is counted as done has been committed."""

    name: str
    found_files: int = 0
    "Those to be merged, and their bytes."
    found_bytes: int = 0
    found_days: int = 0
    rows: int = 0
    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    left_files: int = 0
    "Others were changing these, or have changed them: they are left for the next run."
    commits: int = 0
    commit_seconds: float = 0.0
    "Of them all: waiting for the partition's lock, settling what others left, and what follows a commit included."
    seconds: float = 0.0
    days: set[date] = field(default_factory=set)
    troubles: list[Trouble] = field(default_factory=list)
    advice: list[Trouble] = field(default_factory=list)
    error: TailraceError | None = None
    interrupted: bool = False

    @property
    def clean(self) -> bool:
        return self.error is None and not self.troubles

    def count(self, swap: Swap) -> None:
        """One more that was committed."""
        self.days.add(swap.merge.day)
        self.rows += swap.merge.rows
        self.files_before += len(swap.merge.files)
        self.files_after += len(swap.files)
        self.bytes_before += swap.merge.bytes
        self.bytes_after += sum(file.size for file in swap.files)

    def as_dict(self) -> dict[str, object]:
        """For programs."""
        numbers = ("files_before", "files_after", "bytes_before", "bytes_after", "rows", "left_files")
        return {
            "partition": self.name,
            "days": len(self.days),
            **{name: getattr(self, name) for name in numbers},
            "commits": self.commits,
            "commit_seconds": round(self.commit_seconds, 3),
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "error": None if self.error is None else {"code": self.error.code, "message": str(self.error)},
            "troubles": [asdict(t) for t in self.troubles],
            "advice": [asdict(t) for t in self.advice],
        }


class CompactionProgress(Protocol):
    """Is told whenever a partition's report has changed."""

    def update(self, report: CompactionReport) -> None: ...


class Unseen:
    """Shows nothing."""

    def update(self, report: CompactionReport) -> None:
        return
