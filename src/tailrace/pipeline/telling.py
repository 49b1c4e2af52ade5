"""What a collection says of artifacts: what is wrong with them, and what somebody should know."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

from tailrace.core import Artifact
from tailrace.lake.ledger import Known
from tailrace.pipeline.job import LOSES, Outcome
from tailrace.pipeline.report import PartitionReport, Trouble
from tailrace.sources.base import GONE
from tailrace.sources.file import is_as_listed

SHRUNK = "data.shrunk-artifact"
NOT_SHARED = "source.not-shared"
OTHER_CONTENT = "data.other-content"


class Telling:
    """Of one partition in one run."""

    def __init__(self, report: PartitionReport, known: Mapping[str, Known]) -> None:
        self.report, self.known = report, known
        self.shrunk = self.unshared = 0

    def outcome(self, artifact: Artifact, outcome: Outcome, host: str | None = None) -> None:
        """What has become of an artifact, on that machine."""
        if outcome.status == "later":
            self._missed(artifact, outcome, host)
        elif outcome.status != "ok":
            self._trouble(artifact, outcome)
        self._shrunk(artifact, outcome)

    def other_content(self, found: Sequence[Artifact], *, overwritten: bool = False) -> None:
        """Files in the place of others; `overwritten`: what those had in the range is gone."""
        more = f" and {len(found) - 1:,} more hold" if len(found) > 1 else " holds"
        kept, hint = (
            "the earlier rows are kept",
            "if it was edited: `tailrace collect --overwrite` replaces the rows of the range",
        )
        if overwritten:
            kept, hint = (
                "the earlier rows outside the range are kept",
                "overwrite them, too, if it was edited: --from, --to",
            )
        message = f"it{more} other lines than when last collected: a new file, {kept}"
        self.report.advice.append(Trouble(found[0].location, message, OTHER_CONTENT, hint))

    def revived(self, count: int) -> None:
        """Duplicates of rows that are gone."""
        what = "an artifact" if count == 1 else f"{count:,} artifacts"
        message = f"{what} held duplicates of rows that are gone now; the next run reads them again"
        self.report.advice.append(Trouble(self.report.name, message, "data.duplicates-return"))

    def _missed(self, artifact: Artifact, outcome: Outcome, host: str | None) -> None:
        """Rotation takes files away at any time; whoever deleted one should know that it was not read."""
        if outcome.code == LOSES:
            self.report.kept += 1
            message = f"{outcome.reason}; they are kept, and nothing new of it was stored"
            hint = "mend the configuration, or the file; if it is meant so: `tailrace collect --overwrite` of the range"
            self.report.troubles.append(Trouble(artifact.location, message, LOSES, hint))
        elif host not in (None, socket.gethostname()) and is_as_listed(artifact):
            self._unshared(artifact, str(host))
        elif outcome.code == GONE:
            message = "no such file any more: renamed or deleted after it was listed, and not read"
            hint = "if it was renamed, the next run reads it"
            self.report.advice.append(Trouble(artifact.location, message, GONE, hint))

    def _unshared(self, artifact: Artifact, host: str) -> None:
        """The file lies here as it was listed, so it is the machine that does not see it, or sees another."""
        self.unshared += 1
        more = f" and {self.unshared - 1:,} more files" if self.unshared > 1 else ""
        message = f"{host} does not see this file{more} as it is here; nothing of it was stored"
        if self.unshared == 1:
            hint = "files have to lie on a disk that all machines of the cluster share, or in a bucket"
            self.report.troubles.append(Trouble(artifact.location, message, NOT_SHARED, hint))
        next(trouble for trouble in self.report.troubles if trouble.code == NOT_SHARED).message = message

    def _trouble(self, artifact: Artifact, outcome: Outcome) -> None:
        failed = outcome.status == "failed"
        self.report.failed += failed
        self.report.partial += not failed
        before = self.known.get(artifact.key)
        kept = "its whole records were stored"
        if failed:
            has_rows = before is not None and before.stored_by is not None
            kept = "the rows of its earlier version are kept" if has_rows else "nothing of it was stored"
        code = outcome.code or f"data.{outcome.status}-artifact"
        self.report.troubles.append(Trouble(artifact.location, f"{outcome.reason}; {kept}", code))

    def _shrunk(self, artifact: Artifact, outcome: Outcome) -> None:
        """Whoever truncates a log loses the rows of what it held before."""
        before = self.known.get(artifact.key)
        was_read_on = artifact.resume is not None or outcome.status in ("failed", "later")
        if was_read_on or before is None or not before.rows or artifact.size >= before.size:
            return
        self.shrunk += 1
        what = "it is" if self.shrunk == 1 else f"it and {self.shrunk - 1:,} more artifacts are"
        message = f"{what} smaller than when last collected; the earlier rows were replaced"
        if self.shrunk == 1:
            hint = "for logs that are truncated on rotation collect the rotated files instead"
            self.report.advice.append(Trouble(artifact.location, message, SHRUNK, hint))
        next(advice for advice in self.report.advice if advice.code == SHRUNK).message = message
