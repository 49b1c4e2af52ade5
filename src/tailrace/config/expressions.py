"""One expression → its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailrace.config.declared import Circular, Declared
from tailrace.config.functions import FUNCTIONS, SIGNATURES, Surroundings
from tailrace.config.operators import BIGGEST, binary, negative, truth
from tailrace.config.places import Problem, Report, meant
from tailrace.config.strings import Hole
from tailrace.config.syntax import Source
from tailrace.config.templates import Scope, Template
from tailrace.config.values import Object, Reference, Value, called, shown

if TYPE_CHECKING:
    from tree_sitter import Node

_WRAPPERS = frozenset({"expression", "literal_value", "template_expr", "collection_value", "operation", "for_expr"})
_MAKERS = frozenset({"tuple", "object", "function_call", "for_tuple_expr", "for_object_expr"})
_BRACKETS = frozenset("()[]{},") | {"tuple_start", "tuple_end", "object_start", "object_end", "comment"}


class Evaluation:
    """One expression of one file."""

    def __init__(self, source: Source, report: Report, around: Surroundings, names: Declared) -> None:
        self.source = source
        self.report = report
        self.around = around
        self.names = names

    def problem(self, node: Node, message: str, hint: str | None = None, code: str = "expression") -> Problem:
        return self.report.make(self.source.where(node), message, code, hint)

    def node(self, node: Node, scope: Scope) -> Value:
        """The value of a part of the expression."""
        try:
            self.names.budget.spend(1)
            value = self._value(node, scope)
            if isinstance(value, (list, dict)) and node.type in _MAKERS:
                self.names.budget.weigh(value)
            return value
        except ValueError as error:
            raise self._refused(node, error) from None

    def _refused(self, node: Node, error: ValueError) -> Problem:
        """What is wrong, and after a semicolon what helps."""
        message, _, hint = str(error).partition("; ")
        return self.problem(node, message, hint or None)

    def _value(self, node: Node, scope: Scope) -> Value:
        match node.type:
            case kind if kind in _WRAPPERS:
                return self.chain(node.children, scope)
            case "string_lit" | "quoted_template":
                return self._template(node, scope)
            case "numeric_lit":
                return self._number(node)
            case "bool_lit":
                return self.source.word(node) == "true"
            case "null_lit":
                return None
            case "tuple":
                return [self.node(child, scope) for child in node.children if child.type == "expression"]
            case "object":
                return self._object(node, scope)
            case "variable_expr":
                return self._variable(node, scope)
            case "function_call":
                return self._call(node, scope)
            case "conditional":
                condition, yes, no = (child for child in node.children if child.type == "expression")
                return self.node(yes if self._truth(condition, scope) else no, scope)
            case "unary_operation" | "binary_operation":
                return self._operation(node, scope)
            case "for_tuple_expr" | "for_object_expr":
                return self._for(node, scope)
        raise self.problem(node, f"'{self.source.word(node)[:40]}' is not supported here")

    def chain(self, nodes: Sequence[Node], scope: Scope) -> Value:
        """A term and what is asked of it: `(a).b[0].c`."""
        first, *rest = (node for node in nodes if node.type not in _BRACKETS)
        value = self.node(first, scope)
        for at, step in enumerate(rest):
            if step.type == "splat":
                return self._splat(value, step, rest[at + 1 :], scope)
            value = self._step(value, step, scope)
        if isinstance(value, Reference) and value.path[0] in self.names.named:
            raise self.problem(first, f"'{value}' needs a name after it", f"write {value.path[0]}.name")
        return value

    def _step(self, value: Value, step: Node, scope: Scope) -> Value:
        key = self._key(step, scope)
        if isinstance(value, Reference):
            return self._follow(value, str(key), step)
        if isinstance(value, dict) and isinstance(key, str):
            if key not in value:
                raise self.problem(step, f"there is no '{key}' in this map", meant(key, value))
            return value[key]
        if isinstance(value, list) and isinstance(key, (int, float)):
            if not 0 <= key < len(value):
                message = f"there is no item {shown(key)} in a list of {len(value)}"
                raise self.problem(step, message, "items are counted from 0")
            return value[int(key)]
        raise self.problem(step, f"{called(value)} has no '{shown(key)}'")

    def _key(self, step: Node, scope: Scope) -> str | int | float:
        if step.type == "get_attr":
            return self.source.word(step.children[-1])
        inner = step.children[0]
        if inner.type == "legacy_index":
            return int(self.source.word(inner)[1:])
        expression = next((child for child in inner.children if child.type == "expression"), None)
        if expression is None:
            raise self.problem(step, "expected a text or a number between the brackets")
        key = self.node(expression, scope)
        if isinstance(key, (str, int, float)) and not isinstance(key, bool):
            return key
        raise self.problem(step, f"expected a text or a number between the brackets, found {called(key)}")

    def _follow(self, reference: Reference, key: str, step: Node) -> Value:
        head = reference.path[0]
        if head not in self.names.named:
            return Reference((*reference.path, key), reference.where)
        try:
            return self.names.lookup(head, key)
        except KeyError:
            raise self.problem(
                step, f"unknown name '{head}.{key}'", meant(key, self.names.named[head]), "unknown-name"
            ) from None
        except Circular as error:
            message = f"cannot evaluate {head}.{key}: {error}"
            hint = "one of them has to be given without the others"
            raise self.problem(step, message, hint, "circular-reference") from None

    def _splat(self, value: Value, splat: Node, rest: Sequence[Node], scope: Scope) -> Value:
        steps = [*splat.children[0].children[1:], *rest]
        items = value if isinstance(value, list) else [] if value is None else [value]
        results = []
        for item in items:
            for step in steps:
                item = self._step(item, step, scope)
            results.append(item)
        return results

    def _variable(self, node: Node, scope: Scope) -> Value:
        name = self.source.word(node)
        return scope[name] if name in scope else Reference((name,), self.source.where(node))

    def _number(self, node: Node) -> Value:
        word = self.source.word(node)
        try:
            number = float(word)
            return int(word) if word.isdigit() and number < BIGGEST else number
        except ValueError:
            raise self.problem(node, f"'{word}' is not a number") from None

    def _template(self, node: Node, scope: Scope) -> Value:
        pieces = self.source.strings[node.start_byte]
        if len(pieces) == 1:
            return pieces[0]
        holes = [child for child in node.children if child.type == "template_interpolation"]
        values = [next((c for c in hole.children if c.type == "expression"), None) for hole in holes]
        expressions = [value for value in values if value is not None]
        if len(expressions) != sum(isinstance(piece, Hole) and piece.computed for piece in pieces):
            raise self.problem(node, "an interpolation in this text is empty", "write a name between '${' and '}'")
        if len(pieces) == 3 and not pieces[0] and not pieces[2] and expressions:
            return self.node(expressions[0], scope)
        show = lambda inner, scope: self._inside(inner, self.node(inner, scope))  # noqa: E731
        return Template(pieces, expressions, show=show, holds=self._truth, pairs=self._pairs).text(scope)

    def _inside(self, node: Node, value: Value) -> str:
        try:
            text = shown(value)
        except ValueError as error:
            raise self.problem(node, str(error), "write '$${' for a plain '${'") from None
        self.names.budget.weigh(text)
        return text

    def _pairs(self, node: Node, scope: Scope) -> list[tuple[Value, Value]]:
        """What `for` goes through: keys and values of a map, or numbers and items of a list."""
        over = self.node(node, scope)
        if isinstance(over, dict):
            return list(over.items())
        if isinstance(over, list):
            return list(enumerate(over))
        raise self.problem(node, f"expected a list or a map after 'in', found {called(over)}")

    def _object(self, node: Node, scope: Scope) -> Value:
        result = Object()
        for element in (child for child in node.children if child.type == "object_elem"):
            key_node, value_node = (child for child in element.children if child.type == "expression")
            key = self._object_key(key_node, scope)
            if key in result:
                raise self.problem(key_node, f"'{key}' is given twice", code="duplicate-attribute")
            result[key] = self.node(value_node, scope)
            result.places[key] = (self.source.where(key_node), self.source.where(value_node))
        return result

    def _object_key(self, node: Node, scope: Scope) -> str:
        if len(node.children) == 1 and node.children[0].type == "variable_expr":
            return self.source.word(node)
        key = self.node(node, scope)
        if isinstance(key, (str, int, float)) and not isinstance(key, bool):
            return shown(key)
        raise self.problem(node, f"expected a name or a text before '=', found {called(key)}")

    def _call(self, node: Node, scope: Scope) -> Value:
        name = self.source.word(node.children[0])
        if name not in FUNCTIONS:
            raise self.problem(node, f"unknown function '{name}'", meant(name, FUNCTIONS), "unknown-function")
        function, least, most = FUNCTIONS[name]
        arguments = self._arguments(node, scope)
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"at least {least}" if most > 9 else f"{least} to {most}"
            message = f"{name}() takes {wanted} argument{'s' * (least != 1 or most != 1)}, not {len(arguments)}"
            raise self.problem(node, message, f"write {SIGNATURES[name]}")
        self.names.budget.weigh(arguments)
        try:
            result = function(self.around, self.source.text.directory, *arguments)
        except (ValueError, OverflowError, TypeError) as error:
            message, _, hint = f"{name}(): {error}".partition("; ")
            raise self.problem(node, message, hint or f"it is called as {SIGNATURES[name]}", "function") from None
        self.names.budget.weigh(result)
        return result

    def _arguments(self, node: Node, scope: Scope) -> list[Value]:
        given = next((child for child in node.children if child.type == "function_arguments"), None)
        nodes = given.children if given else []
        values = [self.node(child, scope) for child in nodes if child.type == "expression"]
        if nodes and nodes[-1].type == "ellipsis":
            last = values.pop()
            if not isinstance(last, list):
                raise self.problem(node, f"expected a list before '...', found {called(last)}")
            values += last
        return values

    def _truth(self, node: Node, scope: Scope) -> bool:
        try:
            return truth(self.node(node, scope))
        except ValueError as error:
            raise self._refused(node, error) from None

    def _operation(self, node: Node, scope: Scope) -> Value:
        children = [child for child in node.children if child.type != "comment"]
        at = next(i for i, c in enumerate(children) if not c.is_named and c.type not in _BRACKETS)
        sign = children[at].type
        try:
            if at == 0:
                value = self.chain(children[1:], scope)
                return not truth(value) if sign == "!" else negative(value)
            left = self.chain(children[:at], scope)
            if sign in ("&&", "||") and truth(left) is (sign == "||"):
                return left
            right = self.chain(children[at + 1 :], scope)
            return truth(right) if sign in ("&&", "||") else binary(sign, left, right)
        except ValueError as error:
            raise self._refused(node, error) from None

    def _for(self, node: Node, scope: Scope) -> Value:
        intro = next(child for child in node.children if child.type == "for_intro")
        names = [self.source.word(child) for child in intro.children if child.type == "identifier"]
        pairs = self._pairs(next(child for child in intro.children if child.type == "expression"), scope)
        results = [child for child in node.children if child.type == "expression"]
        only = next((child.children[-1] for child in node.children if child.type == "for_cond"), None)
        many = any(child.type == "ellipsis" for child in node.children)
        rows: list[Value] = []
        table: dict[str, Value] = {}
        groups: dict[str, list[Value]] = {}
        for key, value in pairs:
            inner = {**scope, names[0]: key if len(names) > 1 else value, names[-1]: value}
            if only is not None and not self._truth(only, inner):
                continue
            made = [self.node(result, inner) for result in results]
            if node.type == "for_tuple_expr":
                rows.append(made[0])
                continue
            name = self._inside(results[0], made[0])
            if many:
                groups.setdefault(name, []).append(made[1])
            else:
                table[name] = made[1]
        return rows if node.type == "for_tuple_expr" else table | groups
