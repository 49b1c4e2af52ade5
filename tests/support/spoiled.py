"""Logs that something has changed at random."""

from __future__ import annotations

import random

_BITS = (
    b'"', b"\\", b"\n", b"\r", b"\0", b"\xff", b"[", b"]", b"{", b"}", b",", b" ", b"-", b"\xc3", b"9" * 40,
    b"1e999", b"null", b"\\ud800", b"0001", b"9999", b":", b"\t", b"\xef\xbb\xbf",
)  # fmt: skip


def spoiled(data: bytes, chance: random.Random) -> bytes:
    """The same with a few changes anywhere."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 2, 5, 20))):
        at = chance.randrange(len(changed) + 1)
        how = chance.randrange(4)
        if how == 0:
            changed[at : at + chance.randrange(2)] = chance.choice(_BITS)
        elif how == 1:
            del changed[at : at + chance.choice((1, 3, 50))]
        elif how == 2:
            changed[at : at + 1] = bytes([chance.randrange(256)])
        else:
            changed[at:at] = changed[at : at + chance.randrange(200)]
    return bytes(changed)
