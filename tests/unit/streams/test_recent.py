"""Batches that were accepted lately: known inside of the window, and never more than there is room for."""

from __future__ import annotations

import time

from tailrace.streams.recent import Recent
from tailrace.streams.records import Identity

KEY = b"k" * 8


def batch(number: int) -> Identity:
    return Identity(number + 1, b"c" * 8)


def test_a_batch_is_known_inside_of_the_window_only():
    recent = Recent(window=10)
    assert not recent.arrived(KEY, batch(1), 1_000_000)
    assert recent.arrived(KEY, batch(1), 1_010_000)
    assert not recent.arrived(b"o" * 8, batch(1), 1_010_000)
    # Behind the window it counts as new, and is known from then on.
    assert not recent.arrived(KEY, batch(1), 1_010_001)
    assert recent.arrived(KEY, batch(1), 1_020_000)


def test_what_failed_is_forgotten_wherever_it_stands():
    recent = Recent(window=10)
    for moment in (0, 11_000):
        assert not recent.arrived(KEY, batch(1), moment)
    recent.forget(KEY, [batch(1)])
    assert not recent.knows(KEY, batch(1))
    recent.remember(KEY, [batch(1), batch(2)], 12_000)
    assert recent.knows(KEY, batch(1))
    assert recent.knows(KEY, batch(2))


def test_the_old_are_forgotten_and_the_young_stay():
    recent = Recent(window=10)
    for number in range(100):
        recent.arrived(KEY, batch(number), 1_000_000 + 500 * number)
    recent.forget_before(1_000_000 + 500 * 80)
    assert all(recent.knows(KEY, batch(number)) for number in range(80, 100))
    assert len(recent) == 20


def test_one_that_came_again_behind_the_window_is_young():
    recent = Recent(window=10)
    for moment in (0, 20_000):
        assert not recent.arrived(KEY, batch(1), moment)
    recent.forget_before(15_000)
    assert recent.knows(KEY, batch(1))


def test_there_are_never_more_than_there_is_room_for():
    recent = Recent(window=600, most=16_000)
    for number in range(40_000):
        recent.arrived(KEY, batch(number), 1_000_000)
    assert 15_000 < len(recent) <= 16_000
    # By chance some parts get more than others, and forget a little earlier.
    assert all(recent.knows(KEY, batch(number)) for number in range(28_000, 40_000))


def test_forgetting_takes_no_longer_the_more_there_are():
    """It happens every second, while everybody waits."""
    recent = Recent(window=600)
    for number in range(200_000):
        recent.arrived(KEY, batch(number), number)
    begun = time.perf_counter()
    for _ in range(1000):
        recent.forget_before(0)
    assert time.perf_counter() - begun < 0.5
    recent.forget_before(200_000)
    left = len(recent)
    assert 100_000 < left < 200_000
    for _ in range(20):
        recent.forget_before(200_000)
    assert len(recent) == 0
