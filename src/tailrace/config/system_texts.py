"""Texts that the operating system is given: names of files, programs and addresses."""

from __future__ import annotations

import re

from tailrace.config.places import Report
from tailrace.config.values import Setting, Value

_NAMES = re.compile(r"(?:^|_)(?:paths?|dir|directory|file|uri|url|bucket|container|prefix|command|env)$")
"Of attributes that hold such. Elsewhere NUL may be meant, as a delimiter."


def without_nul(setting: Setting, value: Value, report: Report) -> Value:
    """The value; raises a Problem where it holds the character that ends a text there."""
    if _NAMES.search(setting.name):
        texts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)
        if any(isinstance(text, str) and "\0" in text for text in texts):
            hint = "no name of a file, program or address holds one; take it out"
            raise report.make(setting.where, f"'{setting.name}' holds a NUL character", "wrong-value", hint)
    return value
