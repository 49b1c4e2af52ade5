from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.core.errors import LockedError
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake

HOLD = """
import sys, time
from pathlib import Path
from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake
with partition_lock(Lake(Path(sys.argv[1])), "t", "p.q", "tailrace collect t.p"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_second_one_hears_who_holds_it_and_a_dead_holder_does_not_block(lake: Lake) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    command = [sys.executable, "-c", HOLD, str(lake.home)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError) as error, partition_lock(lake, "t", "p.q", "other"):
            pass
        assert error.value.exit_code == 6
        assert f"process {holder.pid} on {os.uname().nodename} (`tailrace collect t.p`) since 2" in str(error.value)
        with partition_lock(lake, "t", "p.r", "another partition is free"):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with partition_lock(lake, "t", "p.q", "after the kill"):
        pass


def test_within_one_process_too(lake: Lake) -> None:
    with (
        partition_lock(lake, "t", "p", "one"),
        pytest.raises(LockedError),
        partition_lock(lake, "t", "p", "two"),
    ):
        pass
    with partition_lock(lake, "t", "p", "three"):
        pass
