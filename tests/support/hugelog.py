"""Lines of an access log, as many as are asked for."""

from __future__ import annotations


def lines(count: int) -> bytes:
    """Lines of one day that differ in every field."""
    return b"".join(
        b'10.%d.%d.%d - user%d [17/Oct/2026:%02d:%02d:%02d +0000] "GET /item/%d?session=%08x HTTP/1.1" %d %d '
        b'"https://example.com/%d" "Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%d.0"\n'
        % (n % 8, n % 250, n % 199, n % 500, n // 10_800 % 24, n // 180 % 60, n // 3 % 60, n, n * 2654435761 % 2**32,
           200 + n % 4, n % 90_000, n % 700, n % 90, n % 90)
        for n in range(count)
    )  # fmt: skip
