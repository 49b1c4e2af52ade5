"""Calls that die: each in a child of this process, so that many of them cost one start of Python."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable


def killed_at(step: str, call: Callable[[], None]) -> bool:
    """Runs `call` in a child that is killed at the step; False = it came to its end instead."""
    child = os.fork()
    if child == 0:
        os.environ["TAILRACE_KILL_AT"] = step
        try:
            call()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) == 0
    return False
