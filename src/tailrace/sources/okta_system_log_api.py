"""Source `okta_system_log_api`: the system log of Okta."""

from __future__ import annotations

from tailrace.sources.api import Api, ApiSource, manners_of, server
from tailrace.sources.base import Given
from tailrace.sources.credentials import bearer, from_environment, needed, secret_of, text_of
from tailrace.sources.oauth import Exchange, Granted
from tailrace.sources.pages import Paging
from tailrace.sources.signing import Assertion
from tailrace.sources.slices import DAY, HOUR, Slicing, slicing_of
from tailrace.sources.web import Auth

KIND = "okta_system_log_api"
PATH = "/api/v1/logs"
SLICING = Slicing(HOUR, HOUR, keeps=90 * DAY)


def make(given: Given) -> ApiSource:
    domain = text_of(given.connection, "domain")
    if domain is None:
        raise needed(KIND, given.connection, "okta", "domain", "token")
    base = server(domain, KIND, "domain")
    wanted = str(given.args.get("filter") or "")
    asked = (("filter", wanted),) if wanted else ()
    api = Api(
        address=f"okta://{base.partition('://')[2]}{PATH}",
        url=base + PATH,
        auth=_auth(given, base),
        asked=asked,
        params=(*asked, ("since", "{from}"), ("until", "{to}"), ("sortOrder", "ASCENDING"), ("limit", "1000")),
        paging=Paging("link"),
        cut="published",
        manners=manners_of(given.args),
    )
    return ApiSource(KIND, api, slicing_of(given.args, SLICING))


def _auth(given: Given, base: str) -> Auth:
    connection = given.connection
    token = secret_of(connection, "token") or from_environment("OKTA_CLIENT_TOKEN")
    if token is not None:
        return bearer(token, "SSWS")
    client, key = text_of(connection, "client_id"), secret_of(connection, "private_key")
    if client is None or key is None:
        raise needed(KIND, connection, "okta", "domain", "token")
    url = f"{base}/oauth2/v1/token"
    form = (
        ("grant_type", "client_credentials"),
        ("scope", "okta.logs.read"),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
    )
    claims = (("iss", client), ("sub", client), ("aud", url))
    return Granted(Exchange(url, form, Assertion("client_assertion", key, claims)))
