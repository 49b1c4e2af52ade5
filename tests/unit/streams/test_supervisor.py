"""When a part that died is begun again."""

from __future__ import annotations

import sys
import time

from tailrace.streams.supervisor import AGAIN, LISTENERS, Part, Supervisor


def ended(part: Part) -> None:
    assert part.process is not None
    part.process.wait(30)


def part(program: str) -> Part:
    found = Part("x", [sys.executable, "-c", program])
    found.start()
    ended(found)
    return found


def test_one_that_dies_is_begun_again_after_growing_pauses():
    dying = part("raise SystemExit(9)")
    now = time.monotonic()
    for turn, pause in enumerate((1.0, 2.0, 4.0), 1):
        assert dying.look(now) is None
        assert dying.look(now + pause - 0.01) is None
        assert dying.starts == turn
        assert dying.look(now + pause) is None
        assert dying.starts == turn + 1
        ended(dying)


def test_one_that_was_sound_is_begun_again_at_once():
    sound = part("raise SystemExit(9)")
    later = time.monotonic() + 60
    assert sound.look(later) is None
    assert sound.look(later + 0.5) is None
    assert sound.starts == 2
    ended(sound)


def test_one_that_cannot_be_helped_says_so():
    assert part("raise SystemExit(3)").look(time.monotonic()) == 3


def test_a_port_that_is_taken_from_the_beginning_is_told_and_later_waited_for():
    taken = part("raise SystemExit(5)")
    taken.name = LISTENERS
    assert taken.look(time.monotonic()) == 5
    later = part("raise SystemExit(5)")
    later.name, later.starts = LISTENERS, 2
    assert later.look(time.monotonic()) is None


def test_one_that_wants_another_configuration_is_begun_at_once():
    changing = part(f"raise SystemExit({AGAIN})")
    now = time.monotonic()
    assert changing.look(now) is None
    assert changing.look(now) is None
    assert changing.starts == 2
    ended(changing)
    # In the end what it left is published by another one.
    assert changing.wait(30) < 0


def test_one_that_finds_a_wrong_configuration_later_waits_until_it_is_mended():
    sound = part("raise SystemExit(9)")
    later = time.monotonic() + 60
    sound.look(later)
    sound.command = [sys.executable, "-c", "raise SystemExit(3)"]
    sound.look(later + 0.5)
    ended(sound)
    assert sound.look(later + 1) is None
    assert not sound.is_over


def test_what_waits_is_published_though_both_parts_are_away(tmp_path):
    """They had died when the end came, and were not begun again yet."""
    told = tmp_path / "told"
    program = f"import sys; open({str(told)!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))"
    assert Supervisor([sys.executable, "-c", program], 30.0, print)._end() == 0
    assert told.read_text().splitlines() == ["--part listeners --drain", "--part driver --drain"]


def test_listeners_that_take_too_long_leave_no_segment_open(tmp_path):
    told = tmp_path / "told"
    program = f"import sys, time; open({str(told)!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10)); "
    slow = Supervisor([sys.executable, "-c", program + "'--drain' in sys.argv or time.sleep(60)"], 2.0, print)
    for one in slow.parts:
        one.send = lambda number: None  # both are deaf
        one.start()
    assert slow._end() == 0
    assert sorted(told.read_text().splitlines()) == ["--part driver", "--part listeners", "--part listeners --drain"]
