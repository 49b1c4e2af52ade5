"""Scripts in processes of their own, forked off one that has imported what they need.

A new interpreter takes a second to import Arrow, DuckDB and the pipeline; killed at every step, there are hundreds.
The process that they come from does nothing but fork, so that no thread of any library runs in it.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

PATHS = [str(Path(__file__).parents[n] / name) for n, name in ((2, "src"), (1, "support"))]
INTEGER = 8


class Forked:
    """What tests use of `subprocess.Popen`."""

    def __init__(self, pid: int, said: tuple[int, int], told: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._said, self._told = said, told
        self._texts: list[str] = []

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int.from_bytes(os.read(self._told, INTEGER), "big", signed=True)
            self._texts = [os.pread(said, os.fstat(said).st_size, 0).decode() for said in self._said]
            for handle in (*self._said, self._told):
                os.close(handle)
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, _: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """All that it has said, once it has ended."""
        self.wait(timeout)
        out, err = self._texts
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, _: type | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None:
            self.kill()
        self.wait()


def started(script: str | Path, *arguments: str, **env: str) -> Forked:
    """`python SCRIPT ARGUMENTS…`, with the tests' own modules at hand and these variables as well."""
    return _begun([str(script), *arguments], {**os.environ, **env})


def command(arguments: tuple[str, ...], environment: dict[str, str], stdin: str) -> Forked:
    """`tailrace ARGUMENTS…`, in just this environment."""
    return _begun(["tailrace", *arguments], environment, stdin)


def _begun(argv: list[str], environment: dict[str, str], stdin: str = "") -> Forked:
    out, err = os.memfd_create("out"), os.memfd_create("err")
    told, tells = os.pipe()
    request = json.dumps({"argv": argv, "env": environment, "cwd": os.getcwd(), "stdin": stdin}).encode()
    server = _server()
    handles = array.array("i", [out, err, tells])
    server.sendmsg([len(request).to_bytes(INTEGER, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
    server.sendall(request)
    os.close(tells)
    return Forked(int.from_bytes(os.read(told, INTEGER), "big"), (out, err), told)


@cache
def _server() -> socket.socket:
    """Ends when our end of the socket closes."""
    ours, theirs = socket.socketpair()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(PATHS), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(theirs.fileno())]
    process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(requests: socket.socket) -> None:
    import world  # noqa: F401  (with nearly all of Tailrace)

    import tailrace.cli.collect
    import tailrace.cli.query
    import tailrace.windows.run  # noqa: F401

    while True:
        length, handles, _, _ = socket.recv_fds(requests, INTEGER, 3)
        if not length:
            return
        request = b""
        while len(request) < int.from_bytes(length, "big"):
            request += requests.recv(1 << 16)
        # One for each script waits for it and tells how it ended; nobody waits for that one.
        if os.fork() == 0:
            requests.close()
            _watch(json.loads(request), *handles)
        for handle in handles:
            os.close(handle)


def _watch(request: dict[str, Any], out: int, err: int, tells: int) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(tells)
        _run(request, out, err)
    os.write(tells, pid.to_bytes(INTEGER, "big"))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(tells, status.to_bytes(INTEGER, "big", signed=True))
    os._exit(0)


def _run(request: dict[str, Any], out: int, err: int) -> NoReturn:
    os.dup2(out, 1)
    os.dup2(err, 2)
    given = os.memfd_create("in")
    os.pwrite(given, request["stdin"].encode(), 0)
    os.dup2(given, 0)
    code: object = 0
    try:
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        sys.argv = request["argv"]
        if sys.argv[0] == "tailrace":
            from tailrace.cli.main import run

            run()
        else:
            sys.path.insert(0, str(Path(sys.argv[0]).parent))
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _serve(socket.socket(fileno=int(sys.argv[1])))
