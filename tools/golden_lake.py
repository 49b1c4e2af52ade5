"""Makes a lake with rows in every table, from the inputs of the golden tests: `python tools/golden_lake.py HOME`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tailrace.core.registry import table_names

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"


def write_config(home: Path) -> None:
    """A partition for each table."""
    config = home / "config"
    config.mkdir(parents=True)
    inputs = {name: path for name in table_names() for path in (GOLDEN / name).glob("in.*")}
    blocks = (f'partition "{n}" "golden" {{ source "file" {{ paths = ["{path}"] }} }}\n' for n, path in inputs.items())
    (config / "golden.tpc").write_text("".join(blocks))


def main() -> None:
    """Collect everything; what is wrong in the inputs goes to the quarantine."""
    home = Path(sys.argv[1])
    write_config(home)
    # Bad records on purpose are in every input: that is no failure here.
    tailrace = [sys.executable, "-m", "tailrace.cli.main", "--home", str(home)]
    done = subprocess.run([*tailrace, "collect", "--max-errors", "1000000", "--no-progress"], check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
