"""Named steps of the commit protocol, at which a fault test can kill or stop the process."""

from __future__ import annotations

import os
from collections import Counter

MERGING = ("files-merged", "merge-run-given-up")
"Those of a compaction alone."
MOVING = ("tier-linked", "files-moved")
"Those of a move between tiers alone."
HANDING = ("day-compared", "day-copied")
"Those of a push or pull alone."
UPKEEP = ("files-vacuumed", "quarantine-vacuumed", "log-checkpointed", "log-shortened")
"Those of a vacuum, and of deleting for good: nothing is declared or committed there."
SPOOLING = ("spool-written", "spool-synced", "segment-synced", "segment-renamed", "tail-cut")
"Those of the spool, before and behind an acknowledgement."
SINKING = (
    "quarantine-written",
    "run-written",
    "manifest-staged",
    "manifest-named",
    "file-staged",
    "file-renamed",
    "fold-staged",
    "fold-marked",
)
"Those of a sink, from segments to files."
TABLING = ("partition-planned", "partition-written", "fold-staged")
"Those of a sink of OTAP tables."
ARRIVING = ("arrivals-stored", "arrivals-noted")
"Those of a sink of the lake, behind its commit."
STEPS = (
    "object-staged",
    "manifest-written",
    "replayed",
    "duplicates-dropped",
    *MERGING,
    "segment-staged",
    "segment-written",
    "committed",
    "fold-written",
    "run-cleaned",
    "manifest-removed",
    "recovery-fenced",
    "recovery-decided",
    "recovery-files-deleted",
    "recovery-segment-voided",
    "recovery-swept",
    "recovery-manifest-marked",
)
_SIGNALS = (("TAILRACE_KILL_AT", "SIGKILL"), ("TAILRACE_STOP_AT", "SIGSTOP"))
_seen: Counter[str] = Counter()


def reached(step: str) -> None:
    """Die or sleep here if `TAILRACE_KILL_AT` or `TAILRACE_STOP_AT` is `step`, or `step:n` the nth time."""
    for variable, wish in _SIGNALS:
        wanted = os.environ.get(variable)
        if not wanted:
            continue
        name, _, nth = wanted.partition(":")
        if name == step:
            _seen[step] += 1
            if _seen[step] == int(nth or 1):
                import signal  # only tests come here

                os.kill(os.getpid(), signal.Signals[wish])
