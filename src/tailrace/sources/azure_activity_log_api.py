"""Source `azure_activity_log_api`: the activity log of a subscription from Azure Monitor."""

from __future__ import annotations

from urllib.parse import quote

from tailrace.sources.api import Api, ApiSource, manners_of
from tailrace.sources.azure_login import cloud_of, login
from tailrace.sources.base import Given
from tailrace.sources.credentials import needed, text_of
from tailrace.sources.pages import Paging
from tailrace.sources.slices import DAY, HOUR, Slicing, slicing_of

KIND = "azure_activity_log_api"
SLICING = Slicing(HOUR, HOUR, keeps=90 * DAY)


def make(given: Given) -> ApiSource:
    connection = given.connection
    subscription = text_of(connection, "subscription_id")
    if subscription is None:
        raise needed(KIND, connection, "azure", "subscription_id")
    cloud = cloud_of(connection)
    path = f"/subscriptions/{quote(subscription, safe='')}"
    api = Api(
        address=f"azure-activity://{cloud.management}{path}",
        url=f"https://{cloud.management}{path}/providers/Microsoft.Insights/eventtypes/management/values",
        auth=login(connection, cloud),
        params=(
            ("api-version", "2015-04-01"),
            ("$filter", "eventTimestamp ge '{from}' and eventTimestamp le '{to}'"),
        ),
        records="value",
        paging=Paging("cursor", "nextLink"),
        cut="eventTimestamp",
        manners=manners_of(given.args),
    )
    return ApiSource(KIND, api, slicing_of(given.args, SLICING))
