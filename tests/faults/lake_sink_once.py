"""A sink of the lake, killed at each step and begun again; prints what is in the table in the end.

A program of its own: it forks, which a process with the threads of engines must not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import deltalake  # noqa: F401  each child would import it anew
from dying import killed_at
from livelake import NOW, LiveLake, message, record

from tailrace.streams import records, segments

CONFIG = """
listener "syslog" "s" { port = 5140 }
listener "syslog" "other" { port = 5141 }
sink "lake" "l" {
  table     = "syslog"
  listeners = [listener.syslog.s]
}
"""


def fill(live: LiveLake, turn: int) -> None:
    """Segments of a few messages, some of another listener, and one that is none."""
    texts = [b"<13>Nov 14 22:%02d:%02d h app: %d.%d" % (turn, n, turn, n) for n in range(12)]
    given = [record(records.SYSLOG, message(text), "syslog.s", at=NOW) for text in texts]
    given += [record(records.SYSLOG, message(b"no message %d" % turn), "syslog.s")]
    given += [record(records.SYSLOG, message(texts[0]), "syslog.other")]
    live.fill(given, segment_bytes=400)


def killed(root: Path, step: str) -> dict[str, object]:
    live = LiveLake(root / (step or "undisturbed"), CONFIG)
    died = []
    for turn in range(2):
        killed_at("", lambda turn=turn: fill(live, turn))
        kills = [step] if step else []
        if step.startswith("recovery-"):  # somebody has to leave something behind
            kills = ["segment-written", step]
        died += [killed_at(kill, lambda: live.drive() and None) for kill in kills]
        # More has come before it goes on.
        killed_at("", lambda turn=turn: fill(live, 10 + turn))
        died.append(killed_at("", lambda: live.drive() and None))
    killed_at("", lambda: read_back(live, root / "rows.json"))
    found = json.loads((root / "rows.json").read_text())
    return {"killed": died, "segments": segments.numbers(live.spool, segments.CLOSED), **found}


def read_back(live: LiveLake, out: Path) -> None:
    rows = live.query("select message, tp_id from syslog")
    told = {"rows": sorted(text for text, _ in rows), "ids": len({one for _, one in rows})}
    refused = sorted(row["raw"].decode() for row in live.quarantined("syslog"))
    out.write_text(json.dumps(told | {"refused": refused}))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(json.dumps({step: killed(place, step) for step in ("", *sys.argv[2:])}))
