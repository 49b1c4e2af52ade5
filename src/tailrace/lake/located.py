"""From what a configuration or a command says to a place: a directory, or a URL and the connection for it."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from tailrace.config.model import ConnectionSpec
from tailrace.core import ConfigError
from tailrace.lake.place import LocalPlace, Place


def place_at(address: str, connection: ConnectionSpec | None = None, where: str | None = None) -> Place:
    """The place of that name; `where` it is written, for errors."""
    scheme, separator, rest = address.partition("://")
    if separator and scheme.lower() != "file":
        from tailrace.clouds.container import container_at
        from tailrace.lake.object_place import ObjectPlace

        try:
            return ObjectPlace(*container_at(address, connection))
        except ConfigError as error:
            raise ConfigError(error.message, code=error.code, where=where or error.where, hint=error.hint) from None
    path = os.path.expanduser(unquote(urlsplit(address).path) if separator else address)
    if connection is not None:
        message, hint = f"'{address}' is a directory and takes no connection", "leave out `connection`, or write a URL"
        raise ConfigError(message, code="config.contradiction", where=where, hint=hint)
    if not os.path.isabs(path) or (separator and rest.partition("/")[0] not in ("", "localhost")):
        hint = "write /a/directory, ~/a/directory, or a URL such as s3://bucket/prefix"
        raise ConfigError(f"'{address}' is no absolute path", code="config.bad-path", where=where, hint=hint)
    return LocalPlace(os.path.normpath(path))
