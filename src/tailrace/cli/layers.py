"""Where settings and configuration files come from; the first of these that says something wins:

flag > environment > project (`tailrace.tpc`, found upward from here) > user (`<home>/config`) > default
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tailrace.cli.options import Context

PROJECT_FILE = "tailrace.tpc"
DEFAULT_WORKSPACE = "default"
_MOVES = re.compile(rb"\bworkspace\b.*\bpath\b", re.DOTALL)
_TIERS = re.compile(rb'\btiers?\b|\bpartitions?\b\s*(?:"[^"]*"\s*)?[{=\[]')
"Words for them."
_DECLARES = re.compile(rb"table|schema|dataset")


@dataclass(frozen=True, slots=True)
class Layer:
    """Files and directories that one origin names."""

    origin: str
    "flag, environment, project or user."
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A setting, and who chose its value."""

    name: str
    value: object
    origin: str
    by: str | None = None
    "The option, variable or place in a file."


def config_layers(context: Context) -> tuple[Layer, ...]:
    """What is loaded, the strongest first. Paths that were named replace the project and the user's files; those two
    join, and a block of the project replaces the user's block of the same name."""
    if context.config_path:
        return (Layer("flag", _paths(context.config_path)),)
    given = [path for path in os.environ.get("TAILRACE_CONFIG_PATH", "").split(os.pathsep) if path]
    if given:
        return (Layer("environment", _paths(given)),)
    project, own = project_file(), user_directory(context)
    found = [Layer("project", (project,))] if project is not None else []
    return (*found, *([Layer("user", (own,))] if own.is_dir() else []))


def config_files(context: Context) -> Iterator[Path]:
    """The files of all layers, as far as they are there."""
    for layer in config_layers(context):
        for path in layer.paths:
            if path.is_dir():
                yield from sorted(path.glob("*.tpc"))
            elif path.is_file():
                yield path


def may_move_lake(context: Context) -> bool:
    """May a `workspace` block put the lake elsewhere? Files are looked through, and parsed where that is not enough."""
    for file in config_files(context):
        with suppress(OSError):
            if _MOVES.search(file.read_bytes()) and _has_path(file):
                return True
    return False


def may_have_remote_tiers(context: Context) -> bool:
    """May days rest in an object store? On disk they are found without a configuration."""
    texts = []
    for file in config_files(context):
        with suppress(OSError):
            texts.append(file.read_bytes())
    return any(map(_TIERS.search, texts)) and any(b"://" in text for text in texts)


def may_declare(context: Context) -> bool:
    """May tables or schemas be declared? A query that finds no word for them need not have the files parsed."""
    paths = (path for layer in config_layers(context) for path in layer.paths)
    if any(not path.exists() for path in paths):
        return True  # which is told when it is read
    try:
        return any(_DECLARES.search(file.read_bytes()) for file in config_files(context))
    except OSError:
        return True


def may_have_sinks(context: Context) -> bool:
    """May files of sinks be asked for? A sandbox wants to know before it knows the statement."""
    texts = [*config_files(context)]
    texts += [file for layer in config_layers(context) for path in layer.paths for file in path.glob("*.toml")]
    try:
        return any(b"sink" in file.read_bytes() for file in texts)
    except OSError:
        return True


def _has_path(file: Path) -> bool:
    from tailrace.config.load import may_move_lake

    return may_move_lake(file)


def searched(context: Context) -> str:
    """Where a configuration was looked for, in words."""
    paths = [path for layer in config_layers(context) for path in layer.paths] or [user_directory(context)]
    return ", ".join(map(str, paths))


def user_directory(context: Context) -> Path:
    """Where a user's own configuration lies."""
    return context.home_path / "config"


def project_file() -> Path | None:
    """The nearest `tailrace.tpc` from the working directory upward."""
    try:
        here = Path.cwd()
    except OSError:
        return None
    for directory in (here, *here.parents):
        file = directory / PROJECT_FILE
        # A link that leads nowhere is told when it is read.
        if file.is_file() or file.is_symlink():
            return file if _is_trusted(file) else None
    return None


def _is_trusted(file: Path) -> bool:
    """A file that somebody else left in a shared directory, such as /tmp, configures nobody."""
    return file.stat(follow_symlinks=file.exists()).st_uid in (os.getuid(), 0)


def _paths(given: tuple[str, ...] | list[str]) -> tuple[Path, ...]:
    return tuple(Path(path).expanduser() for path in given)


def chosen_settings(context: Context) -> Iterator[Chosen]:
    """The settings that options and variables of the environment decide."""
    yield _choose("home", context.home, "--home", "TAILRACE_HOME", str(context.home_path))
    yield _choose("workspace", context.workspace, "--workspace", "TAILRACE_WORKSPACE", DEFAULT_WORKSPACE)
    layers = config_layers(context)
    paths = [str(path) for layer in layers for path in layer.paths]
    origin = layers[0].origin if layers else "default"
    yield Chosen("config_path", paths or [str(user_directory(context))], origin)
    yield _choose("master", context.master, "--master", None, "local[*]")
    yield _choose("remote", context.remote, "--remote", None, None)
    yield _choose("java_home", context.java_home, "--java-home", "JAVA_HOME", None)


def _choose(name: str, flag: str | None, option: str, variable: str | None, default: str | None) -> Chosen:
    if flag:
        return Chosen(name, flag, "flag", option)
    if variable is not None and (value := os.environ.get(variable)):
        return Chosen(name, value, "environment", variable)
    return Chosen(name, default, "default")
