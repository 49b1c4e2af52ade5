"""Threads that do what they are given, and go when they are told."""

from __future__ import annotations

import threading

from tailrace.pipeline.hands import Ended, Hands, Inbox


def test_work_comes_back_with_its_result_or_its_error() -> None:
    hands, inbox = Hands(), Inbox()
    hands.give(inbox, 4, lambda n: n / 2)
    assert inbox.get(timeout=10) == Ended(4, 2.0)
    hands.give(inbox, 0, lambda n: 1 / n)
    ended = inbox.get(timeout=10)
    assert ended is not None
    assert isinstance(ended.error, ZeroDivisionError)
    hands.dismiss()


def test_threads_are_used_again_and_work_after_a_dismissal_is_done_by_others() -> None:
    others, hands, inbox = threading.active_count(), Hands(), Inbox()
    seen = set()
    for _ in range(20):
        hands.give(inbox, None, lambda _: seen.add(threading.current_thread()))
        inbox.get(timeout=10)
    assert len(seen) == 1
    hands.dismiss()
    hands.give(inbox, "more", str)
    assert inbox.get(timeout=10) == Ended("more", "more")
    hands.dismiss()
    for thread in seen:
        thread.join(10)
    assert threading.active_count() <= others + 1


def test_what_takes_long_does_not_hold_up_the_rest() -> None:
    hands, inbox, free = Hands(), Inbox(), threading.Event()
    hands.give(inbox, "slow", lambda _: free.wait(10))
    hands.give(inbox, "quick", str)
    assert inbox.get(timeout=10) == Ended("quick", "quick")
    free.set()
    assert inbox.get(timeout=10) == Ended("slow", True)
    hands.dismiss()
