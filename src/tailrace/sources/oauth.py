"""Tokens that have to be asked for first, and are kept in the process until they expire."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

import msgspec

from tailrace.config.values import Secret
from tailrace.core import SourceError
from tailrace.sources.base import DENIED
from tailrace.sources.credentials import Fixed
from tailrace.sources.signing import Assertion
from tailrace.sources.slices import Pairs
from tailrace.sources.web import USUAL, Auth, Manners, Request, Web

_MARGIN = 120
"Seconds before its end at which a token counts as expired."
_kept: dict[Grant, tuple[Secret, float]] = {}
"Per process: a token serves all artifacts of a connection."


class Token(msgspec.Struct):
    """What token servers answer, in their different spellings."""

    access_token: str | None = None
    accessToken: str | None = None
    expires_in: int | str | None = None


class Grant(Protocol):
    """A way to get a token; hashable."""

    def ask(self) -> Token: ...


@dataclass(frozen=True, slots=True)
class Granted:
    """Sends the token of a grant."""

    grant: Grant

    def headers(self) -> Mapping[str, str]:
        kept = _kept.get(self.grant)
        if kept is None or kept[1] < time.time():
            token = self.grant.ask()
            text = token.access_token or token.accessToken
            if not text:
                raise SourceError("the token server gives no token", code=DENIED)
            kept = Secret(text), time.time() + int(token.expires_in or 300) - _MARGIN
            _kept[self.grant] = kept
        return {"Authorization": f"Bearer {kept[0].reveal()}"}

    def params(self) -> Pairs:
        return ()

    def forget(self) -> bool:
        return _kept.pop(self.grant, None) is not None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A form, or nothing but the address, for a token."""

    url: str
    form: tuple[tuple[str, str | Secret], ...] = ()
    assertion: Assertion | None = None
    headers: Pairs = ()
    manners: Manners = USUAL

    def ask(self) -> Token:
        form = {name: value.reveal() if isinstance(value, Secret) else value for name, value in self.form}
        if self.assertion:
            form[self.assertion.field] = self.assertion.signed(time.time())
        request = Request(self.url, headers=self.headers)
        if form:
            body = urlencode(form).encode()
            request = Request(self.url, (), "POST", body, "application/x-www-form-urlencoded", self.headers)
        return _token(request, Fixed(), self.manners)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """A token of one account for that of another, as Google offers it."""

    account: str
    scope: str
    auth: Granted | Fixed

    def ask(self) -> Token:
        url = f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{self.account}:generateAccessToken"
        body = msgspec.json.encode({"scope": [self.scope]})
        return _token(Request(url, (), "POST", body), self.auth, USUAL)


@dataclass(frozen=True, slots=True)
class CommandLogin:
    """The login of a command line tool, such as `az`."""

    command: tuple[str, ...]

    def ask(self) -> Token:
        try:
            done = subprocess.run(self.command, capture_output=True, timeout=60, check=True)
            return msgspec.json.decode(done.stdout, type=Token)
        except (OSError, subprocess.SubprocessError, msgspec.DecodeError) as error:
            raise SourceError(
                f"`{' '.join(self.command[:2])}` gives no token", code=DENIED, where=self.command[0],
                hint=f"log in with `{self.command[0]}`, or name credentials in a connection",
            ) from error  # fmt: skip


def _token(request: Request, auth: Auth, manners: Manners) -> Token:
    answer = Web(manners, auth, request.url, f"token of {request.url.partition('?')[0]}").ask(request)
    try:
        return msgspec.json.decode(answer.body, type=Token)
    except msgspec.DecodeError:
        raise SourceError("the token server's answer cannot be read", code=DENIED) from None
