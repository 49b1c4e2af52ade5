"""Tailrace: logs in, typed tables in an open lakehouse, SQL out.

    import tailrace

    lake = tailrace.open()
    lake.sql("select status, count(*) from nginx_access_log group by all").pandas()

Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tailrace.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from tailrace.api.answer import Answer
    from tailrace.api.collecting import CollectError
    from tailrace.api.lake import Lake
    from tailrace.core.errors import TailraceError

__all__ = ["Answer", "CollectError", "Lake", "TailraceError", "__version__", "load_ipython_extension", "open"]

_ELSEWHERE = {
    "Answer": "tailrace.api.answer",
    "CollectError": "tailrace.api.collecting",
    "Lake": "tailrace.api.lake",
    "TailraceError": "tailrace.core.errors",
}


def open(
    home: str | Path | None = None,
    *,
    workspace: str | None = None,
    config_path: str | Path | Sequence[str | Path] = (),
    variables: Mapping[str, object] | None = None,
    master: str | None = None,
    remote: str | None = None,
    spark_conf: Mapping[str, object] | None = None,
    java_home: str | Path | None = None,
    sandbox: bool = False,
    timeout: float | None = None,
    memory: str | None = None,
    write: str | Path | Sequence[str | Path] = (),
) -> Lake:
    """A lake: its tables, SQL over them, and collections into it.

    The arguments mean what the options of `tailrace` mean, and what is left out is found as the command line finds it:
    `TAILRACE_HOME` or `~/.tailrace`, `TAILRACE_WORKSPACE`, `tailrace.tpc` from the working directory upward.
    `master`, `remote`, `spark_conf` and `java_home` are for Spark, which runs for `collect` and `.spark()` alone;
    `sandbox`, `timeout` (seconds), `memory` (`512MB`) and `write` (files and directories) are limits of SQL. Opening
    reads nothing.

    >>> tailrace.open().sql("select 6 * 7 as answer").rows()
    [(42,)]
    """
    from tailrace.api.lake import Lake, context_of

    context = context_of(home, workspace, config_path, variables, master, remote, spark_conf, java_home)
    return Lake(context, sandbox=sandbox, timeout=timeout, memory=memory, write=write)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tailrace`: the magic `%%tailrace` of IPython and notebooks."""
    from tailrace.api.magic import register

    register(shell)


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    raise AttributeError(f"module 'tailrace' has no attribute '{name}'")
