"""Source `gcp_audit_log_api`: audit logs of a project from Cloud Logging."""

from __future__ import annotations

from urllib.parse import quote

from tailrace.sources.api import Api, ApiSource, json_body, manners_of
from tailrace.sources.base import Given
from tailrace.sources.gcp_login import login, project_of
from tailrace.sources.pages import Paging
from tailrace.sources.slices import HOURLY, slicing_of

KIND = "gcp_audit_log_api"
LOG_TYPES = ("activity", "data_access", "system_event", "policy")
URL = "https://logging.googleapis.com/v2/entries:list"
SCOPE = "https://www.googleapis.com/auth/logging.read"


def make(given: Given) -> ApiSource:
    project = project_of(KIND, given.connection)
    chosen = given.args.get("log_types")
    types = tuple(sorted(chosen)) if isinstance(chosen, (list, tuple)) and chosen else LOG_TYPES
    own = str(given.args.get("filter") or "")
    names = " OR ".join(f'"projects/{project}/logs/{quote(f"cloudaudit.googleapis.com/{t}", safe="")}"' for t in types)
    conditions = [f"logName=({names})", 'timestamp>="{from}"', 'timestamp<"{to}"', *([f"({own})"] if own else [])]
    body = {
        "resourceNames": [f"projects/{project}"],
        "filter": " AND ".join(conditions),
        "orderBy": "timestamp asc",
        "pageSize": 1000,
    }
    api = Api(
        address=f"gcp-logging://projects/{project}",
        url=URL,
        auth=login(KIND, given.connection, SCOPE),
        asked=(("log_types", ",".join(types)), *((("filter", own),) if own else ())),
        body=json_body(body),
        records="entries",
        may_lack_records=True,
        paging=Paging("cursor", "nextPageToken", "pageToken"),
        manners=manners_of(given.args),
    )
    return ApiSource(KIND, api, slicing_of(given.args, HOURLY))
