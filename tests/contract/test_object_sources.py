"""What every source promises, kept by the sources of objects: over a server of S3's protocol, and of Google's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving

from tailrace.clouds import gcs, s3
from tailrace.testing import test_sources as promises
from tailrace.testing.samples import Place

SERVED = [name for name in vars(promises) if name.startswith("test_") and "package" not in name]
NOT_EXACT = ("gcp_storage_bucket", "test_odd_names")
"Google's protocol has no second client, and obstore asks for no name with a line break."


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    s3.store.cache_clear()
    gcs.store.cache_clear()
    with serving(BucketServer()) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDTEST")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)

        def put(_: Path, files: Mapping[str, bytes]) -> Mapping[str, object]:
            server.objects = dict(files)
            server._sorted = []
            return {"bucket": "logs"}

        yield put


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("kind", ["aws_s3_bucket", "gcp_storage_bucket"])
def test_promise(kind: str, name: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (kind, name) == NOT_EXACT:
        monkeypatch.setattr(promises, "ODD", {k: v for k, v in promises.ODD.items() if k.isprintable()})
    promise: Callable[[str, Place, Path], None] = getattr(promises, name)
    promise(kind, place, tmp_path)
