"""`tailrace compact` of many days of small files, beside the same rewrite by DuckDB's COPY.

    python benchmarks/compaction.py --days 2000 --runs 3

Runs alternate; each has a lake of its own, whose files are links to the same ones. What was written is read back.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import report
from compaction_duckdb import FORMS
from generate import DATA
from measure import Cost, measure
from run import CACHE, make_archive, median
from small_files import SmallFiles, content_of, small_files


def compact(home: Path) -> Cost:
    """The command a user would type."""
    tailrace = str(Path(sys.executable).with_name("tailrace"))
    return measure([tailrace, "--home", str(home), "compact", "--no-progress", "--output", "json"], CACHE)


def beside_others(home: Path) -> Cost:
    """The same command, without a look at its costs: that would end all processes that are left, a reader too."""
    tailrace = str(Path(sys.executable).with_name("tailrace"))
    command = [tailrace, "--home", str(home), "compact", "--no-progress", "--output", "json"]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | CACHE)
    return Cost(time.perf_counter() - began, 0, 0, 0, done.returncode, done.stdout, done.stderr)


def linked(source: Path, target: Path) -> None:
    """A copy at no cost: files of a lake are never written to again; locks and what is replaced are small."""
    shutil.copytree(source, target, copy_function=os.link)


def by_tailrace(small: SmallFiles, scratch: Path) -> list[report.Result]:
    """What there is to do, and then a look that finds nothing."""
    from deltalake import DeltaTable

    home = scratch / "home"
    for part in ("data", "meta"):
        linked(small.home / part, home / part)
    first = compact(home)
    files = DeltaTable(str(home / "data" / "default" / small.data.name)).file_uris()
    again = compact(home)
    told = [] if again.returncode else json.loads(again.stdout)["partitions"]
    results = [
        result("tailrace", "compact", first, files, small) | commits_of(first),
        result("tailrace", "again, nothing to do", again, files, small, {"merged": len(told)} if told else {}),
    ]
    shutil.rmtree(home)
    return results


def commits_of(cost: Cost) -> dict[str, Any]:
    """How many there were, and what they took of the time."""
    told = [] if cost.returncode else json.loads(cost.stdout)["partitions"]
    return {
        "commits": sum(partition["commits"] for partition in told),
        "commit_seconds": round(sum(partition["commit_seconds"] for partition in told), 3),
    }


def read_meanwhile(small: SmallFiles, scratch: Path) -> report.Result:
    """Compacts beside one who reads all the time; it is not compared with anybody."""
    from deltalake import DeltaTable

    home = scratch / "home"
    for part in ("data", "meta"):
        linked(small.home / part, home / part)
    expected = small.expected
    rows = expected["rows"] // expected["days"]
    command = [sys.executable, str(report.HERE / "compaction_reader.py"), str(home), str(expected["days"]), str(rows)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        cost = beside_others(home)
        told = json.loads(reader.communicate("over")[0])
    files = DeltaTable(str(home / "data" / "default" / small.data.name)).file_uris()
    more = {"reader": told["wrong"]} if told["failed"] or not told["looks"] else {}
    done = result("tailrace", "compact, read meanwhile", cost, files, small, more)
    shutil.rmtree(home)
    return done | {"looks": told["looks"]}


def by_duckdb(form: str, small: SmallFiles, scratch: Path) -> report.Result:
    """The same rows, sorted the same way, in as many files."""
    out = scratch / "out"
    script = str(report.HERE / "compaction_duckdb.py")
    cost = measure([sys.executable, script, form, str(small.data), str(out)])
    done = result("duckdb", form, cost, [str(path) for path in out.rglob("*.parquet")], small)
    shutil.rmtree(out, ignore_errors=True)
    return done


def result(
    engine: str, form: str, cost: Cost, files: list[str], small: SmallFiles, more: dict[str, Any] | None = None
) -> report.Result:
    """A line, with what is wrong of it."""
    expected = small.expected
    wrong: dict[str, Any] = dict(more or {})
    if cost.returncode:
        wrong |= {"exit code": cost.returncode, "stderr": cost.stderr[-2000:]}
    elif (content := content_of(files)) != expected["content"]:
        wrong["content"] = f"{content}, not {expected['content']}"
    elif len(files) != expected["days"]:
        wrong["files"] = len(files)
    return {
        "engine": engine, "form": form, "days": expected["days"], "small_files": expected["files"],
        "rows": expected["rows"], "wall": round(cost.wall, 3), "cpu": round(cost.cpu, 3),
        "peak_rss": cost.peak_rss, "peak_pss": cost.peak_pss, "files": len(files),
        "bytes_out": sum(Path(file).stat().st_size for file in files), "wrong": wrong,
    }  # fmt: skip


def main() -> None:
    """Run, keep the results, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=2_000, help="in all partitions together")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--forms", default=",".join(FORMS), help="of DuckDB's COPY")
    parser.add_argument("--reader", action=argparse.BooleanOptionalAction, default=True, help="read meanwhile, once")
    parser.add_argument("--dry-run", action="store_true", help="print the figures and keep none")
    args = parser.parse_args()
    make_archive()
    small = small_files(args.days)
    runs: dict[tuple[str, str], list[dict[str, object]]] = {}
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        for turn in range(args.runs):
            done = by_tailrace(small, Path(folder))
            done += [by_duckdb(form, small, Path(folder)) for form in args.forms.split(",") if form]
            for one in done:
                runs.setdefault((one["engine"], one["form"]), []).append(one)
                print(turn + 1, json.dumps(one), flush=True)
        if args.reader:
            read = read_meanwhile(small, Path(folder))
            runs[read["engine"], read["form"]] = [read]
            print(json.dumps(read), flush=True)
    if not args.dry_run:
        report.RESULTS.mkdir(exist_ok=True)
        report.keep(report.RESULTS / "compaction.json", [median(some) for some in runs.values()])
        report.write()


if __name__ == "__main__":
    main()
