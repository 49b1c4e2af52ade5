"""JSON: a text to Spark, a type of its own to DuckDB."""

from __future__ import annotations

import re

from sqlglot import exp

from tailrace.query.spark.building import Expression, Rule, bare, call, cast, kind_of, number, text, whole, written
from tailrace.query.spark.refusal import refused

Step = str | int
_STEP = re.compile(r'\.(?:"((?:[^"\\]|\\.)*)"|([^."\[\]*]+))|\[(\d+)\]')
_ASKED = {
    "json_contains": "tailrace_json_contains",
    "json_valid": "tailrace_json_valid",
    "json_exists": "tailrace_json_exists",
    "json_value": "tailrace_json_value",
}
"Functions that Spark has none for: DuckDB answers them inside of Spark's tasks (`functions.py`)."


def steps_of(path: Expression) -> tuple[Step, ...] | None:
    """Keys and places of a path that is written down; None for one that is computed, or holds wildcards."""
    place = whole(path)
    if place is not None:
        return (place,) if place >= 0 else None
    word = written(path)
    if word is None:
        return None
    if word.startswith("/"):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in word[1:].split("/")]
        # `/1` is a place or a key, as the value has it.
        return None if any(part.isdecimal() for part in parts) else tuple(parts)
    if not word.startswith("$"):
        return (word,)
    found, end = [], 1
    while end < len(word):
        step = _STEP.match(word, end)
        if step is None:
            return None
        key = step[1] if step[1] is not None else step[2]
        found.append(int(step[3]) if key is None else key)
        end = step.end()
    return tuple(found)


def spark_path(steps: tuple[Step, ...]) -> str | None:
    """As Spark writes it; None where it cannot."""
    parts = []
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step in ("", "*") or ("'" in step and ("." in step or "[" in step)):
            return None
        else:
            parts.append(f"['{step}']" if "." in step or "[" in step else f".{step}")
    return "".join(parts)


def extract(node: Expression) -> Expression:
    """`->`, `->>` and the functions of the same meaning."""
    if isinstance(node.expression, exp.Array):
        raise refused("several paths at once")
    is_text = isinstance(node, exp.JSONExtractScalar)
    root, steps = _chain(node)
    path = spark_path(steps) if steps is not None else None
    if path is None:
        # With a wildcard it is a list of all that is found.
        every = "_all" if "*" in (written(node.expression) or "") else ""
        return call(f"tailrace_json_extract{every}{'_string' if is_text else ''}", root, node.expression)
    assert steps is not None
    return scalar(root, path) if is_text else _value(root, steps, path)


def _chain(node: Expression) -> tuple[Expression, tuple[Step, ...] | None]:
    """What the first arrow looks into, and all steps of the arrows after it."""
    steps = steps_of(node.expression)
    inner = bare(node.this).meta.get("extracted")
    if steps is not None and inner is not None:
        return inner[0], (*inner[1], *steps)
    return _as_json(node.this), steps


def _as_json(node: Expression) -> Expression:
    """Arrows look into structs too, as JSON."""
    return to_json(exp.ParseJSON(this=node.copy())) if kind_of(node) == exp.DType.STRUCT else node


def scalar(root: Expression, path: str) -> Expression:
    return call("GET_JSON_OBJECT", root, text(f"${path}"))


def _value(root: Expression, steps: tuple[Step, ...], path: str) -> Expression:
    """With a wildcard in its path Spark leaves the quotes of texts; a null that is there is no missing key."""
    found = _with_quotes(root, path)
    last = steps[-1] if steps else 0
    if isinstance(last, str):
        above = spark_path(steps[:-1])
        inside = root if not above else _with_quotes(root, above)
        known = call("ARRAY_CONTAINS", call("JSON_OBJECT_KEYS", inside), text(last))
        found = call("COALESCE", found, call("IF", known, text("null"), exp.Null()))
    found.meta["extracted"] = (root, steps)
    return found


def _with_quotes(root: Expression, path: str) -> Expression:
    return call("GET_JSON_OBJECT", call("CONCAT", text("["), root, text("]")), text(f"$[*]{path}"))


def bracket(node: Expression) -> Expression | None:
    """`j[0]`, `j['a']`; sqlglot has counted places down by one."""
    if kind_of(node.this) != exp.DType.JSON:
        return None
    (inner,) = node.expressions
    place = whole(inner)
    path = number(place + 1) if place is not None else inner
    return _extracted(node, path)


def dot(node: Expression) -> Expression:
    """`j.a`: a key, where `j` is JSON."""
    if kind_of(node.this) != exp.DType.JSON:
        return node
    return _extracted(node, text(node.expression.name))


def _extracted(node: Expression, path: Expression) -> Expression:
    found = exp.JSONExtract(this=node.this.copy(), expression=path.copy())
    value = extract(found)
    value.type = exp.DataType(this=exp.DType.JSON)
    return value


def unquoted(node: Expression) -> Expression:
    """What arrows have found, to be read as a number or a time."""
    inner = bare(node).meta.get("extracted")
    path = spark_path(inner[1]) if inner is not None else None
    return node if inner is None or path is None else scalar(inner[0], path)


def keys(node: Expression) -> Expression:
    """None of what is no object."""
    if node.args.get("expression") is not None:
        raise refused("json_keys with a path")
    return _or_else(call("JSON_OBJECT_KEYS", node.this), node.this, call("ARRAY"))


def array_length(node: Expression) -> Expression:
    if len(node.expressions) > 1:
        raise refused("json_array_length with a path")
    (inner,) = node.expressions
    return _or_else(call("JSON_ARRAY_LENGTH", inner), inner, number(0))


def _or_else(found: Expression, value: Expression, otherwise: Expression) -> Expression:
    return call("IF", exp.Is(this=value.copy(), expression=exp.Null()), exp.Null(), call("COALESCE", found, otherwise))


def from_json(node: Expression) -> Expression:
    """A list of JSON; other shapes would need a type of Spark's for each."""
    if (written(node.expression) or "").replace(" ", "").upper() != '["JSON"]':
        raise refused("from_json gives a list of JSON there, and nothing else")
    return call("tailrace_json_list", node.this)


def to_json(node: Expression) -> Expression:
    """Of a struct or a list; a text is JSON already."""
    inner = node.this if isinstance(node.this, exp.Expr) else node.expressions[0]
    if kind_of(inner) in (exp.DType.STRUCT, exp.DType.ARRAY, exp.DType.LIST, exp.DType.MAP):
        kept = call("MAP", text("ignoreNullFields"), text("false"))
        return call("TO_JSON", inner, kept)
    return inner.copy()


def minified(node: Expression) -> Expression:
    """`json(x)` leaves blanks out, which a cast does not."""
    made = to_json(node)
    return made if made != node.this else call("tailrace_json", node.this)


def type_of(node: Expression) -> Expression:
    if node.expression is not None:
        raise refused("json_type with a path")
    return call("tailrace_json_type", node.this)


def asked(node: Expression) -> Expression:
    return call(_ASKED[str(node.this).lower()], *node.expressions)


def condition(node: Expression) -> Expression:
    """JSON where a yes or no is wanted."""
    for name in ("this", "expression"):
        inner = node.args.get(name)
        if isinstance(inner, exp.Expr) and kind_of(bare(inner)) == exp.DType.JSON:
            node.set(name, cast(unquoted(bare(inner)), "boolean"))
    return node


RULES: dict[type[Expression], Rule] = {
    **dict.fromkeys((exp.Where, exp.Having, exp.And, exp.Or, exp.Not), condition),
    exp.JSONExtract: extract,
    exp.JSONExtractScalar: extract,
    exp.Dot: dot,
    exp.JSONKeys: keys,
    exp.FromJson: from_json,
    exp.ParseJSON: minified,
    exp.JSONType: type_of,
}
FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(_ASKED, asked),
    "json_array_length": array_length,
    "to_json": to_json,
}
