"""Where a format's time goes: CPU µs a row by stage, as tables in Markdown, to be read beside `formats.py`.

    python benchmarks/format_profile.py --rows 200000 --runs 5 --only json,jsonl,delimited

The engines work on whole blocks, so that a profiler sees few calls and costs little. Of several runs the least is
told, in all and of every stage. *alone* is what a stage takes of DuckDB's time for all of its work.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import format_inputs
from format_jobs import JOBS, Job
from formats import as_a_worker, connected, cpu, ours, theirs

Stages = dict[str, tuple[tuple[str, str], ...]]
"By stage the functions that it is made of, as file and name; `-` before a name: without what it calls."
_LINES = (("lines.py", "_block"), ("lines.py", "_cut"), ("lines.py", "narrowed"))
_COLUMNS: Stages = {
    "columns: values out of the objects": (("<string>", "<lambda>"),),
    "columns: texts": (("json_texts.py", "strings"),),
    "columns: times": (("json_moments.py", "moments"),),
    "columns: numbers": (("json_columns.py", "-_leaf"),),
    "objects given back": (("json_decode.py", "-decode"),),
}
STAGES: dict[str, Stages] = {
    "json": {
        "cut the stream into runs": (("json_cut.py", "fill"), ("json_cut.py", "-_guess")),
        "msgspec": (("~", "decode_lines"), ("json_decode.py", "-structs")),
        **_COLUMNS,
    },
    "jsonl": {
        "lines and where they stand": _LINES,
        "msgspec": (("~", "decode_lines"),),
        **_COLUMNS,
        "runs into batches": (("joining.py", "joined"),),
    },
    "delimited": {
        "lines and where they stand": _LINES,
        "proof that quotes end in their line": (("records.py", "records_of"), ("records.py", "record_block")),
        "blank lines, headers": (("delimited.py", "_values"),),
        "Arrow's CSV reader": (("csv_reader.py", "read"),),
        "times, nulls, what does not fit": (("fit.py", "fit"),),
    },
}


def profiled(run: Callable[[], object]) -> dict[tuple[str, str], tuple[float, float]]:
    """By file and name: CPU seconds of the functions without and with what they call."""
    profile = cProfile.Profile(time.process_time)
    profile.runcall(run)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for (file, _, name), (_, _, own, whole, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        key = Path(file).name, name.split("'")[1] if "'" in name else name
        before = found.get(key, (0.0, 0.0))
        found[key] = before[0] + own, before[1] + whole
    return found


def seconds(stage: tuple[tuple[str, str], ...], found: dict[tuple[str, str], tuple[float, float]]) -> float:
    total = 0.0
    for file, name in stage:
        own, whole = found.get((file, name.removeprefix("-")), (0.0, 0.0))
        total += own if name.startswith("-") else whole
    return total


def measured(job: Job, path: Path, rows: int, runs: int) -> list[str]:
    """The lines of the table."""
    connection = connected()
    whole, other, stages = [], [], []
    for _ in range(runs + 1):
        whole.append(cpu(lambda: ours(job, path))[0])
        other.append(cpu(lambda: theirs(job, path, connection))[0])
        found = profiled(lambda: ours(job, path))
        stages.append({name: seconds(stage, found) for name, stage in STAGES[job.name].items()})
    all_of_it, duck = min(whole), min(other)
    least = {name: min(run[name] for run in stages) for name in stages[0]}
    least["the rest"] = max(all_of_it - sum(least.values()), 0.0)
    micros = 1e6 / rows
    lines = [f"| {job.name} | µs a row | share | alone, × DuckDB |", "|---|--:|--:|--:|"]
    lines += [f"| {n} | {s * micros:.3f} | {s / all_of_it:.0%} | {s / duck:.2f} |" for n, s in least.items()]
    lines += [f"| all | {all_of_it * micros:.2f} | | {all_of_it / duck:.2f} |"]
    return [*lines, f"| DuckDB, `{job.way}` | {duck * micros:.2f} | | 1.00 |", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(STAGES), help="names of formats, with commas between them")
    args = parser.parse_args()
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        paths = format_inputs.write(Path(folder), args.rows)
        for job in JOBS:
            if job.name in args.only.split(","):
                print("\n".join(measured(job, paths[job.input], args.rows, args.runs)), flush=True)


if __name__ == "__main__":
    as_a_worker()
    main()
