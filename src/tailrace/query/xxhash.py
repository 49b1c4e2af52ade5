"""XXH64 with seed 0, by which Parquet's bloom filters know their values. In Python: one id is hashed, not a column."""

from __future__ import annotations

_ALL = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def xxh64(data: bytes) -> int:
    """The hash as a whole number without sign."""
    end = len(data) & ~31
    if end:
        lanes = [_P1 + _P2 & _ALL, _P2, 0, -_P1 & _ALL]
        for start in range(0, end, 32):
            lanes = [_round(lane, _word(data, start + 8 * n, 8)) for n, lane in enumerate(lanes)]
        digest = sum(map(_turned, lanes, (1, 7, 12, 18))) & _ALL
        for lane in lanes:
            digest = ((digest ^ _round(0, lane)) * _P1 + _P4) & _ALL
    else:
        digest = _P5
    return _finished(digest + len(data) & _ALL, data[end:])


def _finished(digest: int, rest: bytes) -> int:
    place = 0
    while len(rest) - place >= 8:
        digest = (_turned(digest ^ _round(0, _word(rest, place, 8)), 27) * _P1 + _P4) & _ALL
        place += 8
    if len(rest) - place >= 4:
        digest = (_turned(digest ^ _word(rest, place, 4) * _P1 & _ALL, 23) * _P2 + _P3) & _ALL
        place += 4
    for byte in rest[place:]:
        digest = _turned(digest ^ byte * _P5 & _ALL, 11) * _P1 & _ALL
    digest = (digest ^ digest >> 33) * _P2 & _ALL
    digest = (digest ^ digest >> 29) * _P3 & _ALL
    return digest ^ digest >> 32


def _round(lane: int, word: int) -> int:
    return _turned(lane + word * _P2 & _ALL, 31) * _P1 & _ALL


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _ALL


def _word(data: bytes, place: int, size: int) -> int:
    return int.from_bytes(data[place : place + size], "little")
