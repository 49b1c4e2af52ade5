"""Priority sampling with numpy, by the book: what the SQL has to give, bit for bit."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MASK = np.uint64(0xFFFFFFFF)


def uniforms(ids: Ints, part_id: str, seed: int = 0) -> Floats:
    """The numbers between 0 and 1 that are made from ids."""
    digest = hashlib.md5(f"{seed}|{part_id}".encode()).hexdigest()
    bits = ids.astype(np.int64).view(np.uint64)
    lanes = [(bits >> np.uint64(32)) ^ np.uint64(int(digest[:8], 16)), (bits & MASK) ^ np.uint64(int(digest[8:16], 16))]
    for turn in range(4):
        here, there = turn % 2, (turn + 1) % 2
        lanes[here] = _mixed(lanes[here])
        lanes[there] = lanes[there] ^ lanes[here]
    high, low = lanes
    whole = (high * np.uint64(2**20) + (low >> np.uint64(12))).astype(np.float64)
    found: Floats = (whole + 0.5) / 2.0**52
    return found


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    for shift, factor in ((16, 569420461), (15, 1935289751)):
        x = ((x ^ (x >> np.uint64(shift))) * np.uint64(factor)) & MASK
    return x ^ (x >> np.uint64(15))


def sample(ids: Ints, weights: Floats, size: int, part_id: str, seed: int = 0) -> dict[int, float]:
    """Ids that are drawn, and what they stand for."""
    ranks = uniforms(ids, part_id, seed) / weights
    near = np.flatnonzero(ranks <= np.partition(ranks, size)[size]) if len(ranks) > size else np.arange(len(ranks))
    order = near[np.lexsort((ids[near], ranks[near]))]
    chosen = order[:size]
    least = 1 / ranks[order[size]] if len(order) > size else 0.0
    return dict(zip(ids[chosen].tolist(), np.maximum(weights[chosen], least).tolist(), strict=True))


def lognormal(count: int, seed: int = 1) -> Floats:
    found: Floats = np.random.default_rng(seed).lognormal(0, 1.5, count)
    return found
