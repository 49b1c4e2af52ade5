"""Source `pipes_audit_log_api`: the audit log of an organisation in Turbot Pipes.

The service knows no times and goes from the newest entry back: a slice is a day, read until it begins.
"""

from __future__ import annotations

from urllib.parse import quote

from tailrace.sources.api import Api, ApiSource, manners_of, server
from tailrace.sources.base import Given
from tailrace.sources.credentials import bearer, from_environment, needed, secret_of, text_of
from tailrace.sources.pages import Paging
from tailrace.sources.slices import DAILY, slicing_of

KIND = "pipes_audit_log_api"


def make(given: Given) -> ApiSource:
    connection = given.connection
    token = secret_of(connection, "token") or from_environment("PIPES_TOKEN")
    organization = text_of(connection, "org_handle")
    if token is None or organization is None:
        raise needed(KIND, connection, "pipes", "token", "org_handle")
    base = server(text_of(connection, "host") or "pipes.turbot.com", KIND, "host")
    path = f"/org/{quote(organization, safe='')}/audit_log"
    api = Api(
        address=f"pipes://{base.partition('://')[2]}{path}",
        url=f"{base}/api/v0{path}",
        auth=bearer(token),
        params=(("limit", "100"),),
        records="items",
        paging=Paging("cursor", "next_token", "next_token"),
        cut="created_at",
        newest_first=True,
        manners=manners_of(given.args),
    )
    return ApiSource(KIND, api, slicing_of(given.args, DAILY))
