"""API keys: a file of `key:workspace:name` lines, looked up by digest."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

from tailrace.core.errors import ConfigError

_HEX = frozenset("0123456789abcdefABCDEF")
_SIZE = 32
_SCHEME = "bearer "
WORKSPACES = 1 << 32


def key_in(given: str) -> str:
    """A key, with or without the name of its scheme, which may be written in letters of any size."""
    given = given.strip()
    return given[len(_SCHEME) :].lstrip() if given[: len(_SCHEME)].lower() == _SCHEME else given


@dataclass(frozen=True, slots=True)
class Tenant:
    """Whom a key belongs to."""

    workspace: int
    digest: bytes
    name: str = ""

    @property
    def id(self) -> bytes:
        """Tells keys apart in the spool, without being one."""
        return self.digest[:8]


class ApiKeys:
    """All keys of a file. The cost of a look does not grow with their number."""

    def __init__(self, tenants: dict[bytes, Tenant]) -> None:
        self._tenants = tenants

    def __len__(self) -> int:
        return len(self._tenants)

    @classmethod
    def read(cls, path: Path) -> ApiKeys:
        """The file as a whole, or an error that names the line."""
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot read the API keys: {getattr(error, 'strerror', None) or error}"
            hint = "write one line for each key, and see that api_keys_file leads there"
            if not path.is_absolute():
                hint += ": a relative path counts from the directory in which the command runs"
            raise ConfigError(message, code="keys.unreadable", where=str(path.absolute()), hint=hint) from None
        tenants: dict[bytes, Tenant] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            tenant = _tenant(line.strip(), f"{path}:{number}")
            if tenant.digest in tenants:
                raise _wrong("the key stands here a second time", f"{path}:{number}")
            tenants[tenant.digest] = tenant
        return cls(tenants)

    def find(self, key: bytes) -> Tenant | None:
        """Whose key it is; sixteen bytes."""
        digest = hashlib.sha256(key).digest()
        tenant = self._tenants.get(digest)
        return tenant if tenant is not None and hmac.compare_digest(tenant.digest, digest) else None

    def find_text(self, text: str) -> Tenant | None:
        """The same for a key in hexadecimal."""
        if len(text) != _SIZE or not _HEX.issuperset(text):
            return None
        return self.find(bytes.fromhex(text))


def _tenant(line: str, where: str) -> Tenant:
    key, _, rest = line.partition(":")
    workspace, _, name = rest.partition(":")
    if len(key) != _SIZE or not _HEX.issuperset(key):
        raise _wrong("a key has 32 hexadecimal digits", where)
    if not workspace.strip().isdigit() or not 0 < int(workspace) < WORKSPACES:
        raise _wrong(f"'{workspace.strip()}' is no workspace: a number from 1 to {WORKSPACES - 1}", where)
    return Tenant(int(workspace), hashlib.sha256(bytes.fromhex(key)).digest(), name.strip())


def _wrong(message: str, where: str) -> ConfigError:
    return ConfigError(
        message, code="keys.line", where=where, hint="write 32 hex digits, a colon, and the workspace's number"
    )
