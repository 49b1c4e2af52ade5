"""File systems without links: a lake cannot live there, and neither the system nor delta-rs says so."""

from __future__ import annotations

import errno

from tailrace.core.errors import LakeError

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"What file systems answer that have no links."


def refused_link(error: OSError, name: str) -> OSError | LakeError:
    """As it is told that a link could not be made, of the same kind if a lake may meet it; `name`: its own."""
    if error.errno not in _NO_LINKS:
        return OSError(error.errno, error.strerror, name)
    message = "the file system has no links, which a lake needs: hard ones for its ledger, symbolic ones for its tiers"
    hint = "put the lake on a file system such as ext4, xfs, btrfs, APFS or NFS, or into an object store"
    return LakeError(message, code="lake.no-links", where=name, hint=hint)
