"""Files → a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from tailrace.config.build import Builder
from tailrace.config.evaluate import Evaluator
from tailrace.config.functions import Surroundings
from tailrace.config.model import Config
from tailrace.config.places import Problem, Report, Text
from tailrace.config.syntax import Attribute, Block, parse
from tailrace.core.errors import ConfigError

SUFFIX = ".tpc"
_BOM = b"\xef\xbb\xbf"


def load(paths: Sequence[Path], *, now: datetime, environ: Mapping[str, str]) -> Config:
    """Files, and the `*.tpc` of directories, as one configuration; ConfigErrors holds all that is wrong."""
    files = find_files(paths)
    texts = [Text(str(file), _read(file), str(file.parent)) for file in files]
    return replace(load_texts(texts, now=now, environ=environ), files=tuple(str(file) for file in files))


def load_texts(texts: Sequence[Text], *, now: datetime, environ: Mapping[str, str]) -> Config:
    """The same for texts that are already in memory."""
    report = Report()
    blocks = []
    for text in texts:
        report.knows(text)
        try:
            blocks.append(_parse(text, report))
        except Problem as problem:
            report.add(problem)
    # A file that cannot be read would make every reference into it look wrong: its own error comes first.
    if len(blocks) < len(texts):
        report.check()
    around = Surroundings(now, environ)
    evaluator = Evaluator(report, around, _locals(blocks, report), _variables(blocks))
    evaluator.check_locals()
    return Builder(blocks, evaluator, report).config()


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Files as given; directories flat, in the order of their names; each file once."""
    found: dict[Path, None] = {}
    for path in paths:
        try:
            if path.is_dir():
                inside = sorted(file for file in path.iterdir() if file.suffix == SUFFIX and file.is_file())
                found.update(dict.fromkeys(inside))
            elif path.is_file():
                found[path] = None
            else:
                raise ConfigError(
                    f"{path} does not exist",
                    code="config.no-such-path",
                    hint="name a .tpc file or a directory of them",
                )
        except OSError as error:
            raise _unreadable(path, error) from None
    return list(found)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from None


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"cannot read {path}: {error.strerror}", code="config.unreadable")


def _parse(text: Text, report: Report) -> Block:
    """One file; a byte order mark counts as blanks so that offsets stay true."""
    if text.data.startswith(_BOM):
        text.data = b"   " + text.data[3:]
    try:
        text.data.decode()
    except UnicodeDecodeError as error:
        raise report.make(text.where(error.start), "the file is not UTF-8", "encoding", "save it as UTF-8") from None
    nul = text.data.find(b"\0")
    if nul >= 0:
        raise report.make(text.where(nul), "the file holds a NUL byte", "encoding", "save it as UTF-8")
    return parse(text, report)


def _locals(files: Sequence[Block], report: Report) -> dict[str, Attribute]:
    """All `locals` blocks together."""
    found: dict[str, Attribute] = {}
    for block in (block for file in files for block in file.blocks if block.kind == "locals"):
        for inner in block.blocks:
            report.unknown(inner.where, "block", inner.kind, [])
        for name, attribute in block.attributes.items():
            if name in found:
                report.error(
                    attribute.where,
                    f"local {name} already exists",
                    "duplicate-name",
                    f"it is declared at {found[name].where}",
                )
            found.setdefault(name, attribute)
    return found


def _variables(files: Sequence[Block]) -> dict[str, Attribute | None]:
    """`variable` blocks: name → default."""
    blocks = [block for file in files for block in file.blocks if block.kind == "variable" and block.labels]
    return {block.labels[0]: block.attributes.get("default") for block in blocks}
