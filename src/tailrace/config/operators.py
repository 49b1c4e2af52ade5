"""Operators between values; what does not fit raises ValueError."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tailrace.config.values import Reference, Value, called

_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BIGGEST = 10**300


def truth(value: Value) -> bool:
    """The value of a condition."""
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {called(value)}; compare it with something: x == 1")
    return value


def negative(value: Value) -> float:
    """`-value`."""
    return -_number(value)


def binary(sign: str, left: Value, right: Value) -> Value:
    """`left sign right`, for all signs but `&&` and `||`."""
    if sign in ("==", "!="):
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        return same is (sign == "==")
    if sign in _ORDER:
        return _ORDER[sign](_number(left), _number(right))
    try:
        result = _ARITHMETIC[sign](_number(left), _number(right))
    except (ZeroDivisionError, OverflowError) as error:
        hint = "see what stands to the right of the sign"
        raise ValueError(f"cannot calculate this: {error}; {hint}") from None
    if not -BIGGEST < result < BIGGEST:
        raise ValueError("the result is too large a number; at most 10^300 can be computed")
    return int(result) if isinstance(result, float) and result.is_integer() else result


def _number(value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        quoted = "put SQL, or any other text, between double quotes"
        hint = quoted if isinstance(value, Reference) else 'texts are joined as in "${a}${b}"'
        raise ValueError(f"expected a number, found {called(value)}; {hint}")
    return value
