"""Credentials of Amazon: keys of the connection, a profile, an assumed role, else the default chain.

obstore knows keys, containers and instances by itself. Profiles, shared files and roles are boto3's (extra `aws`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tailrace.clouds.errors import told
from tailrace.clouds.settings import Settings, in_environment, require_metadata
from tailrace.core import ConfigError, SourceError
from tailrace.core.errors import DENIED
from tailrace.core.extras import install

if TYPE_CHECKING:
    import boto3
    from obstore.store import S3Credential

_KEYS = ("AWS_ACCESS_KEY_ID",)
_MACHINE = (
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)
_LIVE = timedelta(minutes=5)
"boto3 renews what expires; it is asked this often."
HINT = "set access_key and secret_key, a profile, AWS_ACCESS_KEY_ID, or run where a role is attached"


@dataclass(frozen=True, slots=True)
class SessionCredentials:
    """Asks boto3's session whenever obstore wants to sign."""

    session: boto3.Session

    def __call__(self) -> S3Credential:
        found = self.session.get_credentials()
        if found is None:
            raise SourceError("no credentials were found", code=DENIED, hint=HINT)
        keys = found.get_frozen_credentials()
        return {
            "access_key_id": str(keys.access_key),
            "secret_access_key": str(keys.secret_key),
            "token": keys.token,
            "expires_at": datetime.now(UTC) + _LIVE,
        }


def needs_session(settings: Settings) -> bool:
    """Is this something that obstore cannot do by itself?"""
    if settings.text("role_arn") or settings.text("profile"):
        return True
    if settings.text("access_key") or in_environment(*_KEYS, *_MACHINE):
        return False
    if in_environment("AWS_PROFILE") or any(path.exists() for path in _shared_files()):
        return True
    require_metadata(HINT)
    return False


@lru_cache(maxsize=64)
def boto_session(settings: Settings) -> boto3.Session:
    """A session as the connection describes it, also for other services than S3."""
    package = _boto3()
    with _telling(settings):
        session = package.Session(
            profile_name=settings.text("profile"),
            region_name=settings.text("region"),
            aws_access_key_id=settings.text("access_key"),
            aws_secret_access_key=settings.text("secret_key"),
            aws_session_token=settings.text("session_token"),
        )
        return _as_role(session, settings) if settings.text("role_arn") else session


def checked_credentials(settings: Settings) -> SessionCredentials:
    """Credentials that have been got once: what is wrong with them shows before a request does."""
    credentials = SessionCredentials(boto_session(settings))
    with _telling(settings):
        credentials()
    return credentials


def endpoint_of(settings: Settings) -> str | None:
    """Another server than Amazon's, as the connection or the environment names it."""
    environment = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return settings.text("endpoint_url") or environment


def region_of(settings: Settings) -> str | None:
    """Where it is said: connection or source, environment, profile."""
    told_region = settings.text("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if told_region is None and settings.text("profile"):
        told_region = boto_session(settings).region_name
    return told_region


def identity(settings: Settings) -> str:
    """Who we are, as STS sees it."""
    session = boto_session(settings)
    region = settings.text("region") or session.region_name or "us-east-1"
    sts = session.client("sts", region_name=region, endpoint_url=settings.text("endpoint_url"))
    with _telling(settings):
        return str(sts.get_caller_identity()["Arn"])


def _as_role(session: boto3.Session, settings: Settings) -> boto3.Session:
    """The same session in the role, renewed before it expires."""
    from botocore.credentials import RefreshableCredentials
    from botocore.session import get_session

    region = settings.text("region") or session.region_name or "us-east-1"
    sts = session.client("sts", region_name=region, endpoint_url=settings.text("endpoint_url"))
    assume = _assumer(sts, settings)
    inner = get_session()
    inner._credentials = RefreshableCredentials.create_from_metadata(assume(), assume, "sts-assume-role")
    inner.set_config_variable("region", region)
    return cast("boto3.Session", _boto3().Session(botocore_session=inner))


def _assumer(sts: Any, settings: Settings) -> Callable[[], dict[str, str]]:
    def assume() -> dict[str, str]:
        request = {
            "RoleArn": settings.text("role_arn"),
            "RoleSessionName": settings.text("session_name") or "tailrace",
            "ExternalId": settings.text("external_id"),
        }
        keys = sts.assume_role(**{name: value for name, value in request.items() if value})["Credentials"]
        return {
            "access_key": keys["AccessKeyId"],
            "secret_key": keys["SecretAccessKey"],
            "token": keys["SessionToken"],
            "expiry_time": keys["Expiration"].isoformat(),
        }

    return assume


@contextmanager
def _telling(settings: Settings) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except (BotoCoreError, ClientError, ResponseParserError) as error:
        raise _failed(settings, error) from None


def _failed(settings: Settings, error: Exception) -> SourceError:
    reason, code = told(error)
    if type(error).__name__ == "ProfileNotFound":
        profile = settings.text("profile") or os.environ.get("AWS_PROFILE")
        reason, code = f"profile '{profile}' was not found", DENIED
    elif any(word in type(error).__name__ for word in ("Credential", "Token")):
        reason, code = "no credentials were found", DENIED
    elif settings.text("role_arn"):
        reason = f"role {settings.text('role_arn')} cannot be assumed: {reason}"
    return SourceError(reason, code=code, hint=HINT if code == DENIED else None)


def _boto3() -> Any:
    try:
        import boto3
    except ImportError:
        raise ConfigError(
            "profiles, shared files and roles of AWS need boto3",
            code="config.missing-package", hint=install("aws"),
        ) from None  # fmt: skip
    return boto3


def _shared_files() -> tuple[Path, Path]:
    home = Path("~/.aws").expanduser()
    credentials = os.environ.get("AWS_SHARED_CREDENTIALS_FILE", home / "credentials")
    config = os.environ.get("AWS_CONFIG_FILE", home / "config")
    return Path(credentials), Path(config)
