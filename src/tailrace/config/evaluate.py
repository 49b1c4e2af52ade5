"""Attributes → settings; names that expressions may use."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.config.declared import Circular
from tailrace.config.expressions import Evaluation
from tailrace.config.functions import Surroundings
from tailrace.config.limits import Budget
from tailrace.config.places import Problem, Report
from tailrace.config.syntax import Attribute, Constant, Expression
from tailrace.config.values import Setting, Value
from tailrace.config.variables import Variables


class Evaluator:
    """Evaluates expressions of all files; locals and variables are evaluated when first asked for."""

    def __init__(self, report: Report, around: Surroundings, local: dict[str, Attribute], budget: Budget) -> None:
        self.report = report
        self.around = around
        self.budget = budget
        self.variables = Variables()
        self.local = local
        self._found: dict[tuple[str, str], Value] = {}
        self._failed: dict[tuple[str, str], Problem] = {}
        self._asked: list[tuple[str, str]] = []
        self._settings: dict[int, Setting | None] = {}

    @property
    def named(self) -> Mapping[str, Mapping[str, object]]:
        """By head: the names that are declared."""
        return {"var": self.variables.declared, "local": self.local}

    def setting(self, attribute: Attribute) -> Setting | None:
        """The attribute's value; None, and a note in the report, when it has none."""
        key = id(attribute)
        if key not in self._settings:
            self._settings[key] = self._setting(attribute)
        return self._settings[key]

    def _setting(self, attribute: Attribute) -> Setting | None:
        expression = attribute.expression
        self.budget.renew()
        try:
            return Setting(attribute.name, self.value(expression), attribute.where, expression.where)
        except Problem as problem:
            self.report.add(problem)
            return None

    def check_names(self) -> None:
        """Evaluate every local and variable, also those that nobody asks for, so that what is wrong is said."""
        for head, names in self.named.items():
            for name in names:
                self.budget.renew()
                try:
                    self.lookup(head, name)
                except Problem as problem:
                    self.report.add(problem)

    def value(self, expression: Expression | Constant) -> Value:
        """Raises a Problem where the expression has no value."""
        if isinstance(expression, Constant):
            return expression.value
        try:
            return Evaluation(expression.source, self.report, self.around, self).node(expression.node, {})
        except RecursionError:
            raise self.report.make(expression.where, "nested too deeply", "expression") from None

    def has(self, head: str, name: str) -> bool:
        """Could it be evaluated?"""
        return (head, name) in self._found

    def lookup(self, head: str, name: str) -> Value:
        """`local.x` or `var.x`; KeyError when it is not declared, Circular when it depends on itself."""
        key = (head, name)
        if key in self._found:
            return self._found[key]
        if key in self._failed:
            raise self._failed[key]
        if key in self._asked:
            circle = [*self._asked[self._asked.index(key) :], key]
            raise Circular(" → ".join(".".join(part) for part in circle))
        self._asked.append(key)
        try:
            if head == "var":
                self._found[key] = self.variables.value(name, self.value, self.report)
            else:
                self._found[key] = self.value(self.local[name].expression)
        except Problem as problem:
            self._failed[key] = problem
            raise
        finally:
            self._asked.pop()
        return self._found[key]
