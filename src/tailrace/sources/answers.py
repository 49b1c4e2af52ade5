"""What services say when they do not answer as wished, in words that hold no credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ssl import SSLError

import msgspec
import urllib3.exceptions as trouble

from tailrace.core import SourceError
from tailrace.sources.base import DENIED, GONE, REFUSED

_LONGEST_WORDS = 300
_REMEDIES = {
    401: "check the credentials of the connection: they are missing, wrong or expired",
    403: "the credentials are good, but not for this: give them the permission to read these logs",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    "Names in any case."
    body: bytes
    url: str


def refusal(answer: Answer, where: str, secrets: Iterable[str]) -> SourceError:
    """The error for an answer that trying again does not change."""
    said = _said(answer.body, secrets)
    message = f"the service answers with status {answer.status}{f': {said}' if said else ''}"
    if answer.status in _REMEDIES:
        message = f"{message}; {_REMEDIES[answer.status]}"
    code = {401: DENIED, 403: DENIED, 404: GONE, 410: GONE}.get(answer.status, REFUSED)
    return SourceError(message, code=code, where=where)


def words_for(error: Exception, timeout: float) -> str:
    """An error of the network; its own text would show the URL."""
    if isinstance(error, trouble.NameResolutionError):
        return "the name of the host cannot be resolved"
    if isinstance(error, (trouble.SSLError, SSLError)):
        return "no trusted connection: the certificate is not accepted, or TLS is not spoken"
    if isinstance(error, trouble.ProxyError):
        return "the proxy cannot be reached"
    if isinstance(error, (trouble.NewConnectionError, ConnectionRefusedError)):
        return "the connection is refused"
    if isinstance(error, (trouble.ConnectTimeoutError, trouble.ReadTimeoutError, TimeoutError)):
        return f"no answer within {timeout:g} seconds"
    if isinstance(error, trouble.DecodeError):
        return "the answer cannot be decompressed"
    return "the connection was cut"


def pause_asked(answer: Answer, now: float) -> float | None:
    """Seconds that the service asks to wait for; None when it does not ask for any."""
    told = answer.headers.get("retry-after", "")
    if told:
        try:
            if told.strip().isdigit():
                return float(told)
            return max(0.0, parsedate_to_datetime(told).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    ends = limit_ends(answer, now)
    # A used-up limit explains these refusals; a success with the last request of a minute is none.
    return max(0.0, ends - now) if ends and answer.status in (403, 429) else None


def limit_ends(answer: Answer, now: float) -> float:
    """When requests are allowed again, where this one was the last; else 0."""
    for name in ("x-ratelimit", "x-rate-limit", "ratelimit"):
        if answer.headers.get(f"{name}-remaining", "").strip() == "0":
            told = answer.headers.get(f"{name}-reset", "").strip()
            if told.isdigit():
                # Some tell the moment, some the seconds that are left.
                return float(told) + 1 if float(told) > 1e9 else now + float(told)
    return 0.0


def _said(body: bytes, secrets: Iterable[str]) -> str:
    try:
        told = msgspec.json.decode(body[: 1 << 16])
    except (msgspec.DecodeError, RecursionError):
        return ""
    words = _words(told)
    for secret in secrets:
        # A header may hold more than the secret itself: `Bearer …`.
        for part in {secret, secret.rpartition(" ")[2]} - {""}:
            words = words.replace(part, "***")
    return " ".join(words.split())[:_LONGEST_WORDS]


def _words(told: object) -> str:
    if isinstance(told, str):
        return told
    if isinstance(told, dict):
        names = ("message", "error_description", "errorSummary", "detail", "error", "errors")
        return next((words for name in names if (words := _words(told.get(name)))), "")
    return _words(told[0]) if isinstance(told, list) and told else ""
