"""Secrets in command lines and in the words of others."""

from __future__ import annotations

import pytest

from tailrace.cli import redact
from tailrace.config import Secret


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_KNOWN", set())


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["collect", "--var", "token=abc"], "tailrace collect --var 'token=***'"),
        (["collect", "--var=token=abc"], "tailrace collect '--var=token=***'"),
        (["--spark-conf", "spark.x.secret.key=abc"], "tailrace --spark-conf 'spark.x.secret.key=***'"),
        (["--spark-conf=spark.ui.port=4050"], "tailrace --spark-conf=spark.ui.port=4050"),
        (["collect", "--from", "a=b"], "tailrace collect --from a=b"),
    ],
)
def test_the_history_of_the_lake_holds_no_values_of_variables(given: list[str], kept: str) -> None:
    assert redact.command_line(given) == kept


def test_secrets_are_hidden_wherever_they_are_quoted() -> None:
    redact.remember([{"a": [Secret("long-secret"), Secret("ab")]}, ("x", Secret("long-secret-too"))], ["hidden-text"])
    assert redact.redacted("long-secret long-secret-too ab hidden-text x") == "*** *** ab *** x"
    assert redact.command_line(["query", "select 'long-secret'"]) == "tailrace query 'select '\"'\"'***'\"'\"''"
