"""Packages that provide tables, sources and formats, installed for real into directories of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "plugins.md"
_FILE = re.compile(r"^```\w+ ([\w./]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CONFIG = re.compile(r"^```tpc\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def write_example(directory: Path) -> None:
    """The package of the documentation, as it is printed there."""
    for name, text in _FILE.findall(PAGE.read_text()):
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (directory / "acme_logs" / "__init__.py").touch()


def write_worked_example(directory: Path) -> None:
    """The table of CONTRIBUTING.md as a package."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    kinds = {"toml": "pyproject.toml", "python": "caddy_logs/caddy_access_log.py"}
    kinds["json"] = "caddy_logs/golden/caddy_access_log/in.jsonl"
    for kind, name in kinds.items():
        assert name in text
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0])
    (directory / "caddy_logs" / "__init__.py").touch()


def example_config() -> str:
    (text,) = _CONFIG.findall(PAGE.read_text())
    return str(text)


def install(project: Path, target: Path) -> None:
    """As pip does it, without asking any server."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--disable-pip-version-check", "--target", str(target), str(project)], check=True)


def claim(target: Path, package: str, group: str, name: str, module: str) -> None:
    """A package that only says that it provides a name."""
    facts = target / f"{package.replace('-', '_')}-0.1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n")
    (facts / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
