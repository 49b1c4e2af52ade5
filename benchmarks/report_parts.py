"""Sections of RESULTS.md for what is measured by itself, each from one JSON file."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]


def wrong(result: Result) -> list[str]:
    """Sums that differ; floating point may make two of the same differ after the tenth digit."""
    return [name for name, pair in result["wrong"].items() if not _rounded(pair)]


def _rounded(pair: Any) -> bool:
    numbers = isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int | float) for n in pair)
    return numbers and abs(pair[0] - pair[1]) <= 1e-10 * abs(pair[1])


def year(results: list[Result]) -> list[str]:
    lines = [
        "## One year\n",
        f"{results[0]['rows']:,} events of CloudTrail of thirty accounts, a file a day for each account or for all of",
        "them: `tailrace query` beside plain DuckDB in Python on the same files with `hive_partitioning`, whole",
        "processes. *first*: the question as it was asked for the first time, before anything of the files was kept.",
        'The first row is compared with `python -c "import duckdb"`. Over a file a day DuckDB needs so little for all',
        "of these questions that the start of the command decides: a fifth of it, which is asked of one day and of",
        "one `event_id`, is about what `import duckdb` and an empty database take alone.\n",
        "| files | question | rows | Tailrace: wall s | CPU s | RSS MB | DuckDB: wall s | CPU s | RSS MB | wall ratio "
        "| at most | first, wall s | wrong |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for r in results:
        cells = [f"{r['files']:,}", r["question"], f"{r['answer']:,}"]
        for who in ("ours", "theirs"):
            more = [f"{r[f'{who}_cpu']:.2f}", f"{r[f'{who}_rss'] / 1e6:.0f}"] if f"{who}_cpu" in r else ["", ""]
            cells += [f"{r[f'{who}_wall']:.2f}", *more]
        first = f"{r['first_wall']:.2f}" if "first_wall" in r else ""
        ratio = r["ours_wall"] / r["theirs_wall"]
        lines.append(f"| {' | '.join(cells)} | {ratio:.2f} | {r['limit']} | {first} | {', '.join(wrong(r))} |")
    return lines


def compaction(results: list[Result]) -> list[str]:
    first = next(r for r in results if r["engine"] == "tailrace")
    lines = [
        "## Compaction\n",
        f"{first['days']:,} days of ten partitions, each in {first['small_files'] // first['days']} files of "
        f"{first['rows'] // first['small_files']} lines of nginx, become",
        "one file each, sorted by time: `tailrace compact`, beside DuckDB's `COPY`, a statement a day (`by_day`) or",
        "one for all (`at_once`). Both match columns by name, because not all files have all of them, and write zstd",
        "at level 1. Tailrace writes bloom filters for ids alone, DuckDB by itself for more; Tailrace also plans,",
        "gathers Delta statistics, commits, and counts rows against the log. All values of all rows are compared.\n",
        "| | wall s | CPU s | RSS MB | PSS MB | MB out | files | wall ratio | CPU ratio | wrong |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for r in results:
        if "looks" in r:
            continue
        compared = r["engine"] != "tailrace" and not wrong(r) and not wrong(first)
        ratios = [f"{first[k] / r[k]:.2f}" if compared else "" for k in ("wall", "cpu")]
        numbers = (
            f"{r['wall']:.1f} | {r['cpu']:.1f} | {r['peak_rss'] / 1e6:.0f} | {r['peak_pss'] / 1e6:.0f} | "
            f"{r['bytes_out'] / 1e6:.0f} | {r['files']:,}"
        )
        lines.append(f"| {r['engine']} {r['form']} | {numbers} | {' | '.join(ratios)} | {', '.join(wrong(r))} |")
    if "commits" in first:
        share = first["commit_seconds"] / first["walls"][-1]
        lines.append(f"\n{first['commits']} commits took {first['commit_seconds']:.1f} s, {share:.0%} of the time.")
    for r in (r for r in results if "looks" in r):
        told = ", ".join(wrong(r)) or "each saw every row once"
        lines.append(
            f"\nRead {r['looks']:,} times while it was compacted ({r['wall']:.1f} s beside the reader): {told}."
        )
    return lines


_LOG_STEPS = {"reading": ("plan", "list"), "writing": ("open", "commit", "catch_up", "checkpoint")}


def log_costs(results: list[Result]) -> list[str]:
    lines = [
        "## What a log costs\n",
        "What the log of one table costs as it grows: simulated files, with statistics as collections write them, in",
        "ten partitions. *Plan* finds the files of one day, *list* tells what each partition holds, both with opening",
        "the table; *commit* adds one file to a table that is open, *catch up* is what readers and writers do then.",
        "CPU seconds in brackets. Memory is that of a process that plans and lists, and of one that does the rest.\n",
        "| days | files | log MB | checkpoint MB | plan s | list s | RSS MB | open s | commit s | catch up s "
        "| checkpoint s | RSS MB |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in sorted(results, key=lambda result: (result["files"], result["days"])):
        sizes = f"{r['days']:,} | {r['files']:,} | {r['commit_bytes'] / 1e6:.1f} | {r['checkpoint_bytes'] / 1e6:.1f}"
        cells = [sizes]
        for part, steps in _LOG_STEPS.items():
            if f"{part}_rss" in r:
                cells += (f"{r[name]:.2f} ({r[f'{name}_cpu']:.2f})" for name in steps)
                cells.append(f"{r[f'{part}_rss'] / 1e6:.0f}")
            else:
                cells += [r["failed"], *[""] * len(steps)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def objects(results: list[Result]) -> list[str]:
    lines = [
        "## Objects\n",
        "CloudTrail files of ten events each, of 20 accounts over 30 days, in a bucket of 100,000 (*objects ahead*: of",
        "10,000). A stand-in for S3 of our own (`object_server.py`) answers every request after 20 ms, on the same two",
        "cores; moto's server looks at all objects for every page of a listing. Single runs of the whole command, JVM",
        "included. *RSS* counts shared pages once for each process, *PSS* once.\n",
        "| collect | wall s | CPU s | RSS MB | PSS MB | listed | collected | list requests | downloads | |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for r in results:
        memory = f"{r['peak_rss'] / 1e6:.0f} | {r['peak_pss'] / 1e6:.0f}"
        lines.append(
            f"| {r['what']} | {r['wall']:.1f} | {r['cpu']:.1f} | {memory} | {r['listed']:,} | {r['collected']:,} | "
            f"{r['lists']:,} | {r['gets']:,} | {_object_note(r)} |"
        )
    return lines


def _object_note(r: Result) -> str:
    """What the line is to show."""
    if "days_listed" in r:
        return f"days whose prefixes were listed: {len(r['days_listed'])}"
    if "single" in r:
        ratio = r["rate"] / r["single"]
        return (
            f"{r['rate']:.0f} objects/s; one after the other, only downloaded, {r['single']:.0f}: {ratio:.1f} × "
            f"(at least {r['least_ratio']})"
        )
    if "most_wall" in r:
        return f"at most {r['most_wall']:.0f} s beyond the start of the JVM"
    return f"less than {r['most_memory']:,} MB in all (PSS)"


def formats(results: list[Result]) -> list[str]:
    lines = [
        "## Formats\n",
        f"From the bytes of a file to typed columns in Arrow, one thread each, {results[0]['rows']:,} requests in",
        "every format. *at most* is what the project allows itself.\n",
        "| format | bytes/row | µs CPU/row | DuckDB's way | µs CPU/row | ratio | at most |",
        "|---|--:|--:|---|--:|--:|--:|",
    ]
    for r in results:
        theirs = f"{r['theirs']:.2f} | {r['ours'] / r['theirs']:.2f}" if r["theirs"] else " | "
        way = f"`{r['way']}`" if r["way"] else "cannot without an extension"
        size, limit = r["bytes"] / r["rows"], r["limit"] or ""
        lines.append(f"| {r['format']} | {size:.0f} | {r['ours']:.2f} | {way} | {theirs} | {limit} |")
    return lines


def tables(results: list[Result]) -> list[str]:
    both = [r for r in results if "ours_mixed" in r]
    lines = [
        "## Tables\n",
        "What a table costs per byte, computed columns included, beside a plain table over the same bytes: the same",
        "format, a typed column for every field, nothing computed. Inputs are made of the good records of the golden",
        f"tests, {results[0]['bytes'] / 1e6:.0f} MB each. *usual*: nearly all like the first, every other kind one",
        "in a hundred, digits random, so that no two are alike. *mixed*: all kinds equally often, repeated, which is",
        f"far more of what is odd than logs hold. No table may cost more than {results[0]['limit']:.0f} times as much.",
        *([] if len(both) == len(results) else ["Rows without *usual* were measured before there was such input."]),
        "",
        "| table | format | usual: µs/row | ns/byte | plain: ns/byte | ratio | mixed: µs/row | ns/byte "
        "| plain: ns/byte | ratio |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in sorted(results, key=lambda r: -max(_ratio(r, ""), _ratio(r, "_mixed"))):
        usual, mixed = (_cost(r, ""), _cost(r, "_mixed")) if r in both else (" |  |  | ", _cost(r, ""))
        lines.append(f"| {r['table']} | {r['format']} | {usual} | {mixed} |")
    return lines


def _ratio(r: Result, which: str) -> float:
    return float(r["ours" + which] / r["engine" + which]) if "ours" + which in r else 0.0


def _cost(r: Result, which: str) -> str:
    row = r["ours" + which] * r["bytes" + which] / r["rows" + which] / 1000
    return f"{row:.1f} | {r['ours' + which]:.1f} | {r['engine' + which]:.1f} | {_ratio(r, which):.2f}"


def startup(pairs: list[Result]) -> list[str]:
    lines = ["| command | s | beside | s | ratio | at most | s is |", "|---|--:|---|--:|--:|--:|---|"]
    for p in pairs:
        lines.append(
            f"| `{p['ours']}` | {p['ours_seconds']:.2f} | `{p['theirs']}` | {p['theirs_seconds']:.2f} | "
            f"{p['ours_seconds'] / p['theirs_seconds']:.2f} | {p['limit']} | {p['of']} |"
        )
    return lines
