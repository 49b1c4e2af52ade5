"""Where the client that knows keys exactly looks for a bucket: in the path or in the host name."""

from __future__ import annotations

import pytest

from tailrace.clouds.settings import Settings
from tailrace.sources import s3_exact


@pytest.mark.parametrize(
    ("given", "style"),
    [
        ({}, "auto"),
        ({"endpoint_url": "http://localhost:1"}, "path"),
        ({"endpoint_url": "http://localhost:1", "s3_force_path_style": False}, "auto"),
        ({"s3_force_path_style": True}, "path"),
    ],
)
def test_an_own_endpoint_has_the_bucket_in_the_path_unless_told_otherwise(given: dict[str, object], style: str) -> None:
    keys = {"access_key": "AKIA", "secret_key": "x", "region": "us-east-1"}
    client = s3_exact._client(Settings("aws", "test", tuple({**keys, **given}.items())))
    assert client.meta.config.s3["addressing_style"] == style
