"""boto3 with the credentials of a connection: for what obstore does not speak to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tailrace.config.model import ConnectionSpec
from tailrace.config.values import Secret
from tailrace.core import ConfigError, SourceError
from tailrace.core.errors import one_line
from tailrace.sources.base import DENIED, GONE, IO, REFUSED

_KEPT = 1800
_DENIED = ("AccessDenied", "UnrecognizedClient", "InvalidClientTokenId", "ExpiredToken", "SignatureDoesNotMatch",
           "InvalidSignature", "IncompleteSignature", "NotAuthorized", "MissingAuthentication")  # fmt: skip
_CREDENTIALS = {"aws_access_key_id": "access_key", "aws_secret_access_key": "secret_key",
                "aws_session_token": "session_token"}  # fmt: skip


def client(service: str, connection: ConnectionSpec | None, region: str | None) -> Any:
    """A client of that service; without a connection, as boto3 finds credentials by itself."""
    given = tuple(sorted(connection.args.items())) if connection else ()
    # To make one takes longer than to ask; those of a role are good for an hour.
    return _client(service, given, region, int(time.time() // _KEPT))


@lru_cache(maxsize=8)
def _client(service: str, given: tuple[tuple[str, object], ...], region: str | None, period: int) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise ConfigError(
            "this source needs the package boto3", code="config.missing-package", hint="pip install 'tailrace[aws]'"
        ) from None
    args: dict[str, Any] = {name: value.reveal() if isinstance(value, Secret) else value for name, value in given}
    region = region or args.get("region") or None
    keys = {name: args.get(ours) or None for name, ours in _CREDENTIALS.items()}
    session = boto3.Session(profile_name=args.get("profile") or None, region_name=region, **keys)
    attempts = {"mode": "standard", "max_attempts": int(args.get("max_error_retry_attempts", 9))}
    how = {
        "endpoint_url": args.get("endpoint_url") or None,
        "config": Config(retries=attempts, connect_timeout=15, read_timeout=60),
    }
    if args.get("role_arn"):
        session = _as_role(session, args, how)
    return session.client(service, region_name=region, **how)


def _as_role(session: Any, args: Mapping[str, Any], how: Mapping[str, Any]) -> Any:
    import boto3

    more = {"ExternalId": args["external_id"]} if args.get("external_id") else {}
    asked = {"RoleArn": args["role_arn"], "RoleSessionName": args.get("session_name") or "tailrace", **more}
    given = session.client("sts", **how).assume_role(**asked)["Credentials"]
    return boto3.Session(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], session.region_name)


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
