"""Every code that the sources can give is listed, and nothing else is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tailrace.config.codes import CODES

SOURCES = Path(__file__).resolve().parents[3] / "src" / "tailrace"
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")
MADE_FROM_PARTS = {
    "unknown-sink-type",
    "unknown-transform-type",
    "unknown-listener-type",
    "bad-duration",
    "bad-time",
    "bad-size",
    "grok",
    "regex",
}


def codes_in(path: Path) -> set[str]:
    """The third argument of report.error() and its like, `code=`, and what unknown() makes of its kind."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        texts = [argument.value if isinstance(argument, ast.Constant) else None for argument in node.args]
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("error", "make", "warn", "problem") and "config" in path.parts and len(texts) > 2:
            found.add(texts[2])
        if name == "problem" and len(texts) > 3:
            found.add(texts[3])
        if name in ("unknown", "_misnamed"):
            found |= {f"unknown-{text.replace(' ', '-')}" for text in texts[:2] if isinstance(text, str)}
        for keyword in node.keywords:
            if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                found.add(keyword.value.value)
    return {
        code.removeprefix("config.") for code in found if isinstance(code, str) and "config" in code_room(code, path)
    }


def code_room(code: str, path: Path) -> str:
    """Codes of other rooms begin with their names."""
    if not CODE.fullmatch(code.removeprefix("config.")):
        return ""
    return "config" if code.startswith(("config.", "unknown-")) or "config" in path.parts else ""


def test_the_list_is_complete_and_holds_nothing_else() -> None:
    used = set().union(*(codes_in(path) for path in SOURCES.rglob("*.py"))) | MADE_FROM_PARTS
    used |= set(re.findall(r'"(bad-expression|unknown-column)"', (SOURCES / "pipeline/binding.py").read_text()))
    for name in ("against_lake", "configured_windows"):
        used |= set(re.findall(r'code="([a-z-]+)"', (SOURCES / f"cli/{name}.py").read_text()))
    listed = {code.removeprefix("config.") for code in CODES}
    assert used - listed == set()
    assert listed - used == set()


def test_meanings_are_sentences() -> None:
    assert all(meaning.endswith(".") and len(meaning) < 110 for meaning in CODES.values())
    assert len(set(CODES.values())) == len(CODES)
