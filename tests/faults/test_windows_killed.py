"""Windows killed at every step: what comes out is what comes out of an undisturbed run, every log once (A13)."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from otaptables import START, simple, write
from windowruns import MARGIN, MINUTE, places, results, started, told

from tailrace.core.errors import LakeError
from tailrace.lake.place import LocalPlace
from tailrace.windows.state import STAGED, STEPS, State

COUNT = 6
AT = [*STEPS, "window-published:3"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("otap") / "in"
    requests = [simple("shop", ["a", "b"], attributes=n % 2 > 0, time=START + n * MINUTE) for n in range(COUNT)]
    write(made, *requests)
    return made


def run(root: Path, minute: int, **env: str) -> int:
    with started(root, START + minute * MINUTE + MARGIN, **env) as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode or 0


@pytest.fixture(scope="module")
def undisturbed(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("undisturbed")
    (root / "in").symlink_to(logs)
    assert run(root, COUNT) == 0
    return results(root)


@pytest.mark.parametrize("step", AT)
def test_a13_killed_at_a_step(step: str, logs: Path, undisturbed: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "in").symlink_to(logs)
    assert run(tmp_path, COUNT, TAILRACE_KILL_AT=step) == -signal.SIGKILL
    assert run(tmp_path, COUNT) == 0
    assert results(tmp_path) == undisturbed
    assert set(told(tmp_path).values()) == {1}
    state = State.read(places(tmp_path).segments, LocalPlace(str(tmp_path / "out")))
    assert (state.windows, state.through) == (COUNT, START + COUNT * MINUTE)
    assert not (tmp_path / "out" / STAGED).exists()


@pytest.mark.parametrize(("place", "body"), [(-1, b""), (-1, b'{"first": 1'), (1, None)])
def test_a_state_that_is_damaged_is_told(place: int, body: bytes | None, logs: Path, tmp_path: Path) -> None:
    """As a machine that loses power may leave it. Without the last segment its windows are run again."""
    (tmp_path / "in").symlink_to(logs)
    for minute in range(1, COUNT + 1):
        run(tmp_path, minute)
    whole = results(tmp_path)
    segment = sorted((tmp_path / "state" / "segments").glob("0*.json"))[place]
    segment.unlink() if body is None else segment.write_bytes(body)
    with pytest.raises(LakeError, match="is missing" if body is None else "is damaged") as failure:
        State.read(places(tmp_path).segments, LocalPlace(str(tmp_path / "out")))
    assert (failure.value.code, failure.value.where) == ("window.damaged-state", str(segment))
    if body is not None:
        segment.unlink()
        assert run(tmp_path, COUNT) == 0
        assert results(tmp_path) == whole
