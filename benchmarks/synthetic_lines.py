"""nginx access logs in the combined format and VPC flow logs of version 2, line by line as the real ones look."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from synthetic_cloudtrail import ACCOUNTS, REGIONS

BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.%d Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_%d like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "Mozilla/5.0 (compatible; Googlebot/2.%d; +http://www.google.com/bot.html)",
    "curl/8.%d.0",
    "python-requests/2.%d.3",
)
AGENTS = (
    *(b % n for b in BROWSERS for n in range(100, 130)),
    "-",
    "-",
    r"Mozilla/5.0 (\x22quoted\x22 agent)",
)
PAGES = ("/", "/index.html", "/products/%d", "/cart", "/api/v1/orders/%d?expand=lines&limit=50", "/static/js/app.%d.js",
         "/img/banner-%d.webp", "/search?q=caf%%C3%%A9&page=%d", "/login", "/blog/2026/10/post-%d/")  # fmt: skip
PATHS = tuple(p % n if "%d" in p else p.replace("%%", "%") for p in PAGES for n in range(1, 400))
METHODS = ("GET",) * 16 + ("POST",) * 3 + ("HEAD",)
PROTOCOLS = ("HTTP/1.1", "HTTP/2.0")
REFERERS = ("-",) * 30 + tuple(f"https://shop.example.com{p}" for p in PATHS[::30]) + ("https://www.google.com/",)
ODD = ("", r"\x16\x03\x01\x00\xF7\x01\x00\x00\xF3\x03\x03", "-", "quit")
"Requests that are no HTTP: nginx answers 400 to them."
STATUSES = np.array([200, 304, 301, 404, 499, 500, 503])
STATUS_ODDS = [0.82, 0.07, 0.03, 0.05, 0.01, 0.01, 0.01]
NAMES = ("-",) * 40 + ("admin", "reports")
CLOCK = tuple(f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in range(86_400))


def _seconds_of_day(rng: np.random.Generator, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Sorted times of one day, most of them around 14:00."""
    return np.sort((rng.normal(50_400, 18_000, count) % 86_400).astype(np.int64))


def _address(number: int) -> str:
    spread = number * 2_654_435_761 & 0xFFFFFFFF
    return f"{(spread >> 24) % 220 + 3}.{spread >> 16 & 255}.{spread >> 8 & 255}.{spread & 255}"


CALLERS = [_address(n) for n in range(100_000)]


def callers(rng: np.random.Generator, count: int) -> list[str]:
    """Addresses as traffic has them: a few are busy, most are rare (about Zipf), and one in twenty is seen once."""
    ranks = (len(CALLERS) ** rng.random(count)).astype(np.int64)
    callers = [CALLERS[n - 1] for n in ranks.tolist()]
    for n in np.flatnonzero(rng.random(count) < 0.05).tolist():
        callers[n] = _address(int(rng.integers(100_000, 1 << 31)))
    return callers


def nginx_name(index: int, hosts: int, first: datetime) -> tuple[str, datetime]:
    """Name and day of file number `index`: one file per host and day."""
    day = first + timedelta(days=index // hosts)
    return f"web-{index % hosts:02d}/access.log-{day:%Y%m%d}.gz", day


def nginx_lines(count: int, day: datetime, rng: np.random.Generator) -> tuple[bytes, dict[str, int]]:
    """One file's text, and what a right reader must find in it."""
    seconds = _seconds_of_day(rng, count)
    status = STATUSES[rng.choice(len(STATUSES), count, p=STATUS_ODDS)]
    odd = rng.random(count) < 0.001
    status[odd] = 400
    size = np.where(status == 304, 0, rng.lognormal(8, 1.6, count).astype(np.int64))
    method, protocol = rng.integers(0, len(METHODS), count), rng.integers(0, 2, count)
    quoted = np.flatnonzero(rng.random(count) < 0.0002).tolist()
    came = callers(rng, count)
    paths = rng.integers(0, len(PATHS), count).tolist()
    requests = [
        f"{METHODS[m]} {PATHS[p]} {PROTOCOLS[v]}"
        for m, p, v in zip(method.tolist(), paths, protocol.tolist(), strict=True)
    ]
    for n in np.flatnonzero(odd).tolist():
        requests[n] = ODD[n % len(ODD)]
    agents = [AGENTS[a] for a in rng.integers(0, len(AGENTS), count).tolist()]
    for n in quoted:
        agents[n] = r"agent \"in quotes\" 1.0"
    names, referers = rng.integers(0, len(NAMES), count), rng.integers(0, len(REFERERS), count).tolist()
    date = f"{day:%d/%b/%Y}"
    lines = [
        f'{caller} - {NAMES[u]} [{date}:{CLOCK[t]} +0000] "{r}" {s} {z} "{REFERERS[f]}" "{g}"'
        for caller, u, t, r, s, z, f, g in zip(
            came, names.tolist(), seconds.tolist(), requests, status.tolist(), size.tolist(), referers, agents, strict=True
        )
    ]  # fmt: skip
    found = {
        "rows": count,
        "seconds": int(seconds.sum()) + int(day.timestamp()) * count,
        "status": int(status.sum()),
        "bytes": int(size.sum()),
        "gets": int(((method < 16) & ~odd).sum()),
        "users": int((names >= 40).sum()),
        "escapes": sum("\\" in agent for agent in agents),
    }
    return ("\n".join(lines) + "\n").encode(), found


VPC_FIELDS = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status"
)
PORTS = np.array([443, 443, 443, 80, 22, 53, 5432, 6379, 8080, 3389])


def vpc_name(index: int, files: int, days: int, first: datetime, rng: np.random.Generator) -> tuple[str, datetime]:
    """Where AWS would put file number `index`, and the start of the time it covers."""
    account, region = ACCOUNTS[index % len(ACCOUNTS)], REGIONS[index // len(ACCOUNTS) % len(REGIONS)]
    per_day = -(-files // days)
    day, place = divmod(index, per_day)
    start = first + timedelta(days=day, minutes=place * 1430 // per_day)
    name = f"{account}_vpcflowlogs_{region}_fl-0{rng.bytes(8).hex()}_{start:%Y%m%dT%H%MZ}_{rng.bytes(4).hex()}.log.gz"
    return f"AWSLogs/{account}/vpcflowlogs/{region}/{start:%Y/%m/%d}/{name}", start


def vpc_lines(index: int, count: int, start: datetime, rng: np.random.Generator) -> tuple[bytes, dict[str, int]]:
    """One file's text with its header line, and what a right reader must find in it."""
    account = ACCOUNTS[index % len(ACCOUNTS)]
    interfaces = [f"eni-0{rng.bytes(8).hex()}" for _ in range(40)]
    begin = int(start.timestamp()) + np.sort(rng.integers(0, 540, count))
    end = begin + rng.integers(1, 60, count)
    empty, skipped = rng.random(count) < 0.01, rng.random(count) < 0.0005
    silent = empty | skipped
    packets = rng.geometric(0.06, count)
    size = packets * rng.integers(40, 1500, count)
    protocol = np.array([6, 6, 6, 6, 17, 17, 1])[rng.integers(0, 7, count)]
    port = np.where(protocol == 1, 0, PORTS[rng.integers(0, len(PORTS), count)])
    high = np.where(protocol == 1, 0, rng.integers(1024, 65536, count))
    accepted = rng.random(count) < 0.93
    inside = [f"10.{a & 7}.{b}.{c}" for a, b, c in rng.integers(0, 255, (40, 3)).tolist()]
    outside = callers(rng, count)
    incoming = rng.random(count) < 0.5
    columns = (
        rng.integers(0, 40, count),
        incoming,
        high,
        port,
        protocol,
        packets,
        size,
        begin,
        end,
        accepted,
        empty,
        silent,
    )
    head = f"2 {account} "
    lines = [VPC_FIELDS]
    for caller, eni, into, h, p, proto, pk, by, t0, t1, ok, none, quiet in zip(
        outside, *(c.tolist() for c in columns), strict=True
    ):
        ends = f"{caller} {inside[eni]} {h} {p}" if into else f"{inside[eni]} {caller} {p} {h}"
        lines.append(
            f"{head}{interfaces[eni]} - - - - - - - {t0} {t1} - {'NODATA' if none else 'SKIPDATA'}"
            if quiet
            else f"{head}{interfaces[eni]} {ends} {proto} {pk} {by} {t0} {t1} {'ACCEPT' if ok else 'REJECT'} OK"
        )
    found = {
        "rows": count,
        "seconds": int(begin.sum()),
        "bytes": int(size[~silent].sum()),
        "packets": int(packets[~silent].sum()),
        "rejects": int((~accepted & ~silent).sum()),
        "silent": int(silent.sum()),
    }
    return ("\n".join(lines) + "\n").encode(), found
