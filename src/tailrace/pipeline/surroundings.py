"""What a task finds around it: on a cluster that may be another Tailrace, or another disk, than the driver's."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from tailrace.version import __version__

if TYPE_CHECKING:
    from tailrace.lake.place import Place


class Astray(Exception):
    """A task on a machine on which it can do nothing right; Spark tries others before it gives up."""


def check_version(version: str) -> None:
    """Before anything that the driver has said is unpacked: another version might take it for something else."""
    if version != __version__:
        raise Astray(f"{socket.gethostname()} has Tailrace {__version__}, the driver {version}")


def check_lake(noted: Place | None, run: str) -> None:
    """The driver has noted the run in the lake before it sent any task: who does not find that sees another disk."""
    from tailrace.lake.runs import is_noted

    if noted is not None and not is_noted(noted, run):
        raise Astray(f"{socket.gethostname()} does not see the lake: {noted} knows nothing of run {run}")
