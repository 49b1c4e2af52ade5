"""boto3 with the credentials of a connection: for what obstore does not speak to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tailrace.clouds.aws import boto_session
from tailrace.clouds.settings import Settings
from tailrace.config.model import ConnectionSpec
from tailrace.core import SourceError
from tailrace.core.errors import one_line
from tailrace.sources.base import DENIED, GONE, IO, REFUSED

_DENIED = ("AccessDenied", "UnrecognizedClient", "InvalidClientTokenId", "ExpiredToken", "SignatureDoesNotMatch",
           "InvalidSignature", "IncompleteSignature", "NotAuthorized", "MissingAuthentication")  # fmt: skip


def client(service: str, connection: ConnectionSpec | None, region: str | None) -> Any:
    """A client of that service; without a connection, as boto3 finds credentials by itself."""
    return client_of(service, Settings.of(connection, "aws", **({"region": region} if region else {})))


@lru_cache(maxsize=8)
def client_of(service: str, settings: Settings, region: str | None = None, endpoint: str | None = None) -> Any:
    """The same; region and endpoint count before those of the connection."""
    session = boto_session(settings)
    from botocore.config import Config

    attempts = {"mode": "standard", "max_attempts": int(settings.number("max_error_retry_attempts", 9))}
    return session.client(
        service,
        region_name=region or settings.text("region"),
        endpoint_url=endpoint or settings.text("endpoint_url"),
        config=Config(retries=attempts, connect_timeout=15, read_timeout=60),
    )


def told(error: Exception, where: str) -> SourceError:
    """An error of boto3 as ours."""
    answer = getattr(error, "response", None) or {}
    code = str(answer.get("Error", {}).get("Code", ""))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    words = str(answer.get("Error", {}).get("Message") or type(error).__name__)
    message = f"the service answers {code}: {words}" if code else f"the service cannot be asked: {words}"
    if code.startswith(_DENIED) or type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
        hint = "check the credentials of the connection and what they are allowed to read"
        return SourceError(message, code=DENIED, where=where, hint=hint)
    if code.startswith("ResourceNotFound"):
        return SourceError(message, code=GONE, where=where)
    if type(error).__name__ in ("ParamValidationError", "ProfileNotFound", "NoRegionError"):
        return SourceError(f"the service cannot be asked: {one_line(error)}", code=REFUSED, where=where)
    may_pass = not code or status >= 500 or status == 429 or "Throttl" in code
    return SourceError(message, code=IO if may_pass else REFUSED, where=where)
