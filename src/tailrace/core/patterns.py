"""How large a pattern may be: engines take minutes to compile millions of characters, and hear no signal meanwhile."""

from __future__ import annotations

from tailrace.core.errors import PatternError

LONGEST = 1 << 16
"Characters of a regular expression, after patterns have taken the place of their names."
_HINT = "match what is common to all cases, and choose among them with a filter or in queries"


def too_long(what: str, pattern: str, code: str, at: int = 0, where: str | None = None) -> PatternError:
    """As it is told; the pattern itself is not."""
    message = f"{what} has more than {LONGEST:,} characters, its patterns included"
    return PatternError(message, pattern=pattern, at=at, code=code, where=where, hint=_HINT)
