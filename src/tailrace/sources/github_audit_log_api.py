"""Source `github_audit_log_api`: the audit log of an organisation."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from tailrace.sources.api import Api, ApiSource, manners_of, server
from tailrace.sources.base import Given
from tailrace.sources.credentials import bearer, from_environment, needed, secret_of, text_of
from tailrace.sources.pages import Paging
from tailrace.sources.slices import HOURLY, slicing_of

KIND = "github_audit_log_api"


def make(given: Given) -> ApiSource:
    args, connection = given.args, given.connection
    token = secret_of(connection, "token") or from_environment("GITHUB_TOKEN")
    if token is None:
        raise needed(KIND, connection, "github", "token")
    base = _base(text_of(connection, "base_url"))
    include, phrase = str(args.get("include") or "web"), str(args.get("phrase") or "")
    path = f"/orgs/{quote(str(args['organization']), safe='')}/audit-log"
    # Both ends of GitHub's range belong to it, and it knows whole seconds only.
    search = f"{phrase} created:{{from}}..{{to}}".strip()
    api = Api(
        address=f"github://{base.partition('://')[2]}{path}",
        url=base + path,
        auth=bearer(token),
        asked=(("include", include), *((("phrase", phrase),) if phrase else ())),
        params=(("phrase", search), ("include", include), ("order", "asc"), ("per_page", "100")),
        headers=(("Accept", "application/vnd.github+json"), ("X-GitHub-Api-Version", "2022-11-28")),
        paging=Paging("link"),
        cut="@timestamp",
        manners=manners_of(args),
    )
    return ApiSource(KIND, api, slicing_of(args, HOURLY))


def _base(given: str | None) -> str:
    if given is None:
        return "https://api.github.com"
    url = server(given, KIND, "base_url")
    parts = urlsplit(url)
    # A server of one's own has its API below /api/v3.
    is_whole = parts.path or (parts.hostname or "").startswith("api.")
    return url if is_whole else f"{url}/api/v3"
