"""Attributes → settings; names that expressions may use."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.config.expressions import Evaluation
from tailrace.config.functions import Surroundings
from tailrace.config.places import Problem, Report
from tailrace.config.syntax import Attribute, Expression
from tailrace.config.values import Setting, Value


class Evaluator:
    """Evaluates expressions of all files; locals and variables are evaluated when first asked for."""

    def __init__(
        self,
        report: Report,
        around: Surroundings,
        local: dict[str, Attribute],
        variables: dict[str, Attribute | None],
    ) -> None:
        self.report = report
        self.around = around
        self.named: Mapping[str, Mapping[str, Attribute | None]] = {"local": local, "var": variables}
        self._found: dict[tuple[str, str], Value] = {}
        self._failed: dict[tuple[str, str], Problem] = {}
        self._asked: list[tuple[str, str]] = []

    def setting(self, attribute: Attribute) -> Setting | None:
        """The attribute's value; None, and a note in the report, when it has none."""
        expression = attribute.expression
        try:
            value = self.value(expression)
        except Problem as problem:
            self.report.add(problem)
            return None
        except RecursionError:
            self.report.error(expression.where, "nested too deeply", "expression")
            return None
        return Setting(attribute.name, value, attribute.where, expression.where)

    def check_locals(self) -> None:
        """Evaluate every local, also those that nobody asks for, so that what is wrong in them is said."""
        for name in self.named["local"]:
            try:
                self.lookup("local", name)
            except Problem as problem:
                self.report.add(problem)

    def value(self, expression: Expression) -> Value:
        return Evaluation(expression.source, self.report, self.around, self).node(expression.node, {})

    def lookup(self, head: str, name: str) -> Value:
        """`local.x` or `var.x`; KeyError when it is not declared, ValueError when it depends on itself."""
        key = (head, name)
        if key in self._found:
            return self._found[key]
        if key in self._failed:
            raise self._failed[key]
        if key in self._asked:
            circle = [*self._asked[self._asked.index(key) :], key]
            raise ValueError(" → ".join(".".join(part) for part in circle))
        attribute = self.named[head][name]
        given = self.around.environ.get(f"TAILRACE_VAR_{name}") if head == "var" else None
        self._asked.append(key)
        try:
            if given is None and attribute is None:
                raise ValueError(f"var.{name} has no default and TAILRACE_VAR_{name} is not set")
            self._found[key] = given if given is not None or attribute is None else self.value(attribute.expression)
        except Problem as problem:
            self._failed[key] = problem
            raise
        finally:
            self._asked.pop()
        return self._found[key]
