"""What servers answer, in words that hold no address, key id or token."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

from tailrace.core import SourceError
from tailrace.core.errors import DENIED, GONE, IO

_STATUS = re.compile(r"status code: (\d{3})|HTTP status \w+ error \((\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>|\"reason\": ?\"(\w+)\"")
_NO_METADATA = re.compile(r"169\.254\.169\.254|metadata\.google\.internal")
_DENIED_CODES = ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")
_CONTAINERS = {"NoSuchBucket": "bucket", "ContainerNotFound": "container", "FilesystemNotFound": "container"}
_BROKE = "the connection broke"
_CLASSES = {"FileNotFoundError": GONE, "PermissionDeniedError": DENIED, "UnauthenticatedError": DENIED}
_TRIES = 4
Answer = TypeVar("Answer")
HINT = "`tailrace connection test` tells more about a connection"


def told(error: BaseException) -> tuple[str, str]:
    """Reason and code of an error of obstore or botocore."""
    text = str(error)
    if _NO_METADATA.search(text):
        return "no credentials were found", DENIED
    name = (_first(_CODE, text) or _botocore_code(error)).strip()
    status = _first(_STATUS, text)
    code = _CLASSES.get(type(error).__name__, IO)
    if name in _DENIED_CODES or status in ("401", "403"):
        code = DENIED
    elif name in ("NoSuchKey", "404", *_CONTAINERS) or status == "404":
        code = GONE
    return _words(code, name, status, text), code


def told_of_listing(error: BaseException) -> tuple[str, str]:
    """The same where no object was asked for, so that none can be missing."""
    reason, code = told(error)
    return reason.replace("no such object", "no such bucket or container"), code


def patiently(ask: Callable[[], Answer]) -> Answer:
    """The answer; one that was cut off is asked for again."""
    tries = 0
    while True:
        try:
            return ask()
        except Exception as error:
            tries += 1
            if not pause_after_break(error, tries):
                raise


def pause_after_break(error: Exception, tries: int) -> bool:
    """An answer that was cut off, which obstore does not ask for again: waits a little and says to try once more."""
    if tries >= _TRIES or is_of_this_machine(error) or told(error)[0] != _BROKE:
        return False
    time.sleep(random.uniform(0, 0.1 * 2**tries))
    return True


def is_of_this_machine(error: BaseException) -> bool:
    """Is it about a file or the disk here, and nothing that a server said?"""
    return isinstance(error, OSError) and bool(error.errno) and not isinstance(error, ConnectionError | TimeoutError)


def is_not_implemented(error: BaseException) -> bool:
    """Does the server not know what it was asked to do?"""
    return isinstance(error, NotImplementedError) or _first(_STATUS, str(error)) == "501"


def source_error(error: BaseException, location: str) -> SourceError:
    """The error as a person and the pipeline understand it."""
    reason, code = told(error)
    return SourceError(f"cannot be read: {reason}", code=code, where=location, hint=HINT if code == DENIED else None)


def _words(code: str, name: str, status: str, text: str) -> str:
    said = ", ".join(part for part in (status, name) if part)
    answer = f" ({said})" if said else ""
    if code == DENIED:
        return f"access denied{answer}"
    if code == GONE:
        return f"no such {_CONTAINERS.get(name, 'object')}{answer}"
    if said:
        return f"the server answered{answer}"
    if re.search("timed ?out", text, re.IGNORECASE):
        return "the server does not answer in time"
    if re.search("connect|dns", text, re.IGNORECASE):
        return "the server cannot be reached"
    return _BROKE


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return next((group for group in found.groups() if group), "") if found else ""


def _botocore_code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
