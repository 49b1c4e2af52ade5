"""The configuration with all that is wrong with it: what loading it finds, and SQL and patterns that were tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.cli.options import Context
    from tailrace.config import Config
    from tailrace.core import ConfigError


@dataclass(frozen=True, slots=True)
class Examined:
    """What `config validate` and `doctor` tell."""

    config: Config | None
    "None if it cannot be loaded."
    problems: tuple[ConfigError, ...]
    "In the order of the files."
    warnings: tuple[ConfigError, ...]


def examined(context: Context, *, far: bool = False) -> Examined:
    """All that is wrong, at once. Imports engines only if there is SQL, a pattern, or a table that is stored.

    `far`: a lake in an object store is asked, too, for the types of its columns.
    """
    from tailrace.cli.against_lake import other_types, tiers_gone_wrong
    from tailrace.cli.configured_windows import wrong_windows
    from tailrace.cli.settings import load_config
    from tailrace.config import ConfigErrors
    from tailrace.core import ConfigError
    from tailrace.pipeline.check import check

    try:
        config = load_config(context)
    except ConfigErrors as error:
        readable, said = error.config, {problem.place for problem in error.errors}
        if readable is None:
            return Examined(None, error.errors, ())
        # What is wrong at a place once more is wrong because of it.
        more = [problem for problem in check(readable) if problem.place not in said]
        return Examined(None, ConfigErrors((*error.errors, *more)).errors, readable.warnings)
    except ConfigError as error:
        return Examined(None, (error,), ())
    found = (*check(config), *tiers_gone_wrong(context, config), *wrong_windows(config))
    problems = sorted(found, key=lambda problem: problem.place)
    return Examined(config, tuple(problems), (*config.warnings, *other_types(context, config, far=far)))
