"""Source `command`: what a program prints, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tailrace.config.values import Secret
from tailrace.core import ConfigError, SourceError, TimeRange
from tailrace.sources import make_source

DAY = datetime(2026, 3, 1)
WINDOW = TimeRange(DAY, DAY + timedelta(hours=2))


def python(code: str, *words: str, **args: object):
    return make_source("command", {"command": (sys.executable, "-c", code, *words), **args})


def output(source) -> bytes:
    (artifact,) = source.discover(WINDOW)
    with source.open(artifact) as raw:
        return raw.read()


def test_the_whole_output_is_one_artifact_made_anew_by_each_run():
    source = python("print('a'); print('b')")
    (artifact,) = source.discover(WINDOW)
    assert artifact.day is None
    assert artifact.uri.startswith(f"command://{sys.executable}%20-c")
    assert "print" in artifact.uri
    assert datetime.fromisoformat(artifact.version)
    assert output(source) == b"a\nb\n"


def test_no_shell_sees_the_arguments(tmp_path):
    words = (f"$(touch {tmp_path}/made)", "; ls", "*", "a b")
    assert output(python("import sys; print(sys.argv[1:])", *words)) == f"{list(words)}\n".encode()
    assert not list(tmp_path.iterdir())


def test_environment_and_directory(tmp_path):
    source = python("import os; print(os.environ['SECRET'], os.getcwd(), 'PATH' in os.environ)",
                    env={"SECRET": Secret("hidden")}, directory=str(tmp_path))  # fmt: skip
    assert output(source) == f"hidden {tmp_path} True\n".encode()
    assert "hidden" not in repr(source)
    assert "hidden" not in next(source.discover(WINDOW)).uri


def test_other_arguments_are_another_artifact():
    first, second = (next(python("print(1)", word).discover(WINDOW)) for word in ("a", "b"))
    assert first.uri != second.uri


def test_output_comes_as_it_is_printed():
    code = "import time\nfor n in range(3):\n print(n, flush=True)\n time.sleep(0.3)"
    source = python(code)
    began = time.monotonic()
    with source.open(next(source.discover(WINDOW))) as raw:
        first = raw.read(1 << 20)
        assert time.monotonic() - began < 20
        assert len(first) <= 2
        assert first + raw.read() == b"0\n1\n2\n"


def test_much_output_is_not_held():
    source = python("import sys\nfor n in range(200):\n sys.stdout.write('x' * 1000000 + chr(10))")
    size = 0
    with source.open(next(source.discover(WINDOW))) as raw:
        while block := raw.read(4 << 20):
            assert len(block) <= 1 << 20
            size += len(block)
    assert size == 200 * 1_000_001


def test_a_program_that_fails_says_why_and_no_secret():
    code = "import sys; print('half'); sys.stderr.write('x' * 5000 + ' no disk for hidden'); sys.exit(3)"
    source = python(code, env={"S": Secret("hidden")})
    with pytest.raises(SourceError, match=r"exit status 3: .*no disk for \*\*\*") as error:
        output(source)
    assert error.value.code == "source.refused"
    assert len(error.value.message) < 1000


def test_a_program_that_is_killed():
    with pytest.raises(SourceError, match="signal SIGKILL"):
        output(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))


def test_a_program_that_hangs_is_ended(tmp_path):
    mark = tmp_path / "child"
    code = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\nprint('begun', flush=True)\ntime.sleep(600)"
    )
    with pytest.raises(SourceError, match="did not end within 3 seconds") as error:
        output(python(code, timeout="3s"))
    assert error.value.code == "source.io"
    assert _has_ended(int(mark.read_text()))


def test_closing_ends_the_program():
    source = python("import os, time\nos.write(1, b'%d\\n' % os.getpid())\ntime.sleep(600)")
    with source.open(next(source.discover(WINDOW))) as raw:
        number = int(raw.read(100))
        assert _runs(number)
    assert _has_ended(number)


@pytest.mark.parametrize("words", [("sh", "-c", "echo $$; exec sleep 600"), ("sh", "-c", "sleep 600 & echo $!; wait")])
def test_the_program_ends_with_a_process_that_is_killed(words: tuple[str, ...]):
    """And so does what it has started."""
    reader = (
        "import os\nfrom tailrace.core import TimeRange\nfrom tailrace.sources import make_source\n"
        f"source = make_source('command', {{'command': {words!r}}})\n"
        "with source.open(next(source.discover(TimeRange()))) as raw:\n"
        "    os.write(1, raw.read(100))\n    raw.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", reader], stdout=subprocess.PIPE)
    number = int(process.stdout.readline())
    assert _runs(number)
    process.kill()
    process.communicate()
    assert _has_ended(number)


def _has_ended(number: int) -> bool:
    """A moment after it was told to."""
    until = time.monotonic() + 20
    while _runs(number) and time.monotonic() < until:
        time.sleep(0.05)
    return not _runs(number)


def _runs(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("word", "code"), [("/no/such/program", "source.gone"), ("/etc/passwd", "source.denied")])
def test_what_cannot_be_started(word, code):
    source = make_source("command", {"command": (word,)})
    with pytest.raises(SourceError, match="cannot be started") as error:
        output(source)
    assert error.value.code == code


def test_slices_of_time():
    source = python("import sys; print(sys.argv[1:])", "--since={from}", "--until={to}", slice="30m")
    artifacts = list(source.discover(WINDOW))
    assert [a.hour for a in artifacts] == [1, 1, 0, 0]
    assert {a.version for a in artifacts} == {"whole"}
    with source.open(artifacts[0]) as raw:
        assert raw.read() == b"['--since=2026-03-01T01:30:00Z', '--until=2026-03-01T02:00:00Z']\n"


def test_a_program_there_must_be():
    for words in ((), ("",), "text", None):
        with pytest.raises(ConfigError, match="needs `command`"):
            make_source("command", {"command": words})


def test_input_is_empty():
    assert output(python("import sys; print(repr(sys.stdin.read()))")) == b"''\n"
