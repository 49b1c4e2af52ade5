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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pass@host/a?b=c", "https://user:***@host/a?b=c"),
        ('{"url": "http://h/a?token=abc&n=1"}', '{"url": "http://h/a?token=***&n=1"}'),
        (
            "s3://b/k?X-Amz-Signature=1f&x=2 and https://h/?api_key=k#top",
            "s3://b/k?X-Amz-Signature=***&x=2 and https://h/?api_key=***#top",
        ),
        ("https://host:8080/a@b?page=1", "https://host:8080/a@b?page=1"),
        ("no URL: user:pass@host", "no URL: user:pass@host"),
    ],
)
def test_what_urls_carry_is_hidden(text: str, shown: str) -> None:
    assert redact.redacted(text) == shown


def test_secrets_are_hidden_wherever_they_are_quoted() -> None:
    redact.remember([{"a": [Secret("long-secret"), Secret("ab")]}, ("x", Secret("long-secret-too"))], ["hidden-text"])
    assert redact.redacted("long-secret long-secret-too ab hidden-text x") == "*** *** ab *** x"
    assert redact.command_line(["query", "select 'long-secret'"]) == "tailrace query 'select '\"'\"'***'\"'\"''"
