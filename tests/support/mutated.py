"""Configuration files that someone, or something, has changed at random; and the promise about them."""

from __future__ import annotations

import random
import re
import time
from datetime import datetime
from pathlib import Path

from tailrace.config import Config, ConfigErrors
from tailrace.config.codes import CODES
from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.config.variables import Outside
from tailrace.core import ConfigError
from tailrace.pipeline.check import check

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 2.0
"Seconds that any file may take."
PIECES = [
    *"{}[]()\"`=.,:?!%$#\\\n\t\0'<>&|*/+-é𝄞", "${", "%{", "$${", "%{ if ", "%{ endif }", "%{ for x in ", "%{ endfor }",
    "~}", "<<EOT\n", "<<-EOT\n", "EOT\n", "...", "/*", "*/", "//", "=>", "==", "&&", "[*]", ".*.", "for ", " in ",
    " if ", "null", "true", "1e999", "9e99", "99999999999999999999", "-1", "0.5", "local.", "var.", "file(", "env(",
    "timestamp()", 'format("%999d", 1)', 'split("", ', "jsondecode(", "\\ud800", "\\U00110000", "partition", "source",
    "variable", "locals", "table", "column", "workspace", "tp_index", "filter", "layout", "patterns", "type", "(?<",
    "[a-z", "(a+)+", "%{IP:x}", "\ufeff", "\r\n", "\u2028",
]  # fmt: skip


def examples() -> list[str]:
    """What is mutated: the broken files of the golden tests, and every block of the documentation."""
    files = [path.read_text() for path in sorted((ROOT / "tests/golden/config_errors").glob("*.tpc"))]
    pages = [path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))]
    return files + [block for page in pages for block in re.findall(r"^```hcl\n(.*?)^```", page, re.M | re.S)]


def mutated(chance: random.Random, texts: list[str]) -> bytes:
    """One of the texts, or two together, after up to six changes."""
    text = "\n".join(chance.sample(texts, chance.choice((1, 1, 2))))
    for _ in range(chance.randint(1, 6)):
        text = _changed(chance, text, texts)
    data = text.encode(errors="replace")
    if data and chance.random() < 0.1:
        at = chance.randrange(len(data))
        data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data


def _changed(chance: random.Random, text: str, texts: list[str]) -> str:
    at = chance.randint(0, len(text))
    end = min(len(text), at + chance.choice((1, 1, 2, 5, 20, 80)))
    match chance.randrange(7):
        case 0:
            return text[:at] + text[end:]
        case 1:
            return text[:at] + chance.choice(PIECES) + text[at:]
        case 2:
            return text[:at] + chance.choice(PIECES) + text[end:]
        case 3:
            return text[:end] + text[at:end] * chance.choice((1, 2, 200)) + text[end:]
        case 4:
            words = re.split(r"(\s+)", text)
            one, two = chance.randrange(len(words)), chance.randrange(len(words))
            words[one], words[two] = words[two], words[one]
            return "".join(words)
        case 5:
            other = chance.choice(texts)
            begin = chance.randint(0, len(other))
            return text[:at] + other[begin : begin + 60] + text[end:]
    return text[:at]


def keeps_the_promise(data: bytes) -> int:
    """Load and check the file: configuration errors only, each with its place, in time. Gives their number."""
    began = time.process_time()
    text = Text("x.tpc", data, "no-such-directory")
    outside = Outside(flags=["v20_region=a"])
    problems: list[ConfigError] = []
    try:
        config = load_texts([text], now=datetime(2024, 1, 31), environ={"HOME": "/h"}, outside=outside)
    except ConfigErrors as errors:
        problems += errors.errors
        config = errors.config or Config()
    problems += check(config)
    for problem in problems:
        assert problem.code in CODES, problem.code
        assert str(problem).encode()
    assert time.process_time() - began < LONGEST, f"took {time.process_time() - began:.1f} s"
    return len(problems)
