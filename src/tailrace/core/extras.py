"""How optional packages are added to this installation."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import urlsplit
from urllib.request import url2pathname


def install(extra: str) -> str:
    """The command that adds what an extra needs, from where this installation came: a package index or a clone."""
    return f"python -m pip install '{_origin() or 'tailrace'}[{extra}]'"


def _origin() -> str | None:
    """The directory from which Tailrace was installed, if it was one."""
    try:
        told = distribution("tailrace").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    origin = json.loads(told) if told else {}
    return url2pathname(urlsplit(origin["url"]).path) if "dir_info" in origin else None
