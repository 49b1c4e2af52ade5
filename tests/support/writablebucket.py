"""A `bucketserver` that can be written to: S3's and Google's puts with conditions, parts and deletions."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import ClassVar, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from bucketserver import BucketServer, Handler, etag


@dataclass
class WritableBucket(BucketServer):
    """`writes` holds methods and keys in order. Of conditions it may take no notice, or refuse what has one.

    `unmatched`: no version is the one that was meant.
    """

    conditions: Literal["kept", "ignored", "refused", "unmatched"] = "kept"
    writes: list[tuple[str, str]] = field(default_factory=list)
    generations: dict[str, int] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def handler(self) -> type[Handler]:
        return _Handler

    def generation(self, key: str) -> int:
        """Google's number of a version; 0 where there is none."""
        return self.generations.get(key, 0) if key in self.objects else 0

    def allows(self, key: str, headers: dict[str, str]) -> bool:
        if self.conditions == "ignored":
            return True
        if headers.get("if-none-match") == "*" and key in self.objects:
            return False
        wanted = headers.get("if-match")
        if wanted is not None and (
            self.conditions == "unmatched" or key not in self.objects or wanted.strip('"') != etag(self.objects[key])
        ):
            return False
        number = headers.get("x-goog-if-generation-match")
        return number is None or int(number) == self.generation(key)

    def put(self, key: str, data: bytes) -> dict[str, str]:
        self.objects[key] = data
        self._sorted = []
        self.generations[key] = self.generations.get(key, 0) + 1
        self.written[key] = time.time()
        return {"ETag": f'"{etag(data)}"', "x-goog-generation": str(self.generations[key])}


class _Handler(Handler):
    bucket: ClassVar[WritableBucket]  # type: ignore[misc]

    def _object(self, key: str, data: bytes, headers: dict[str, str], action: tuple[str, float] | None) -> None:
        """With ranges that end before the object does, Google's versions, and faults in what is asked for of it."""
        extra = {"ETag": f'"{etag(data)}"', "Last-Modified": formatdate(self.bucket.written.get(key, 0), usegmt=True)}
        extra["x-goog-generation"] = str(self.bucket.generation(key))
        first, _, last = headers.get("range", "").removeprefix("bytes=").partition("-")
        start, end = int(first or 0), min(int(last) + 1 if last else len(data), len(data))
        part = data[start:end]
        told = part if action is None else part[: int(action[1])]
        if first:
            extra["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        length = len(told) if action is not None and action[0] == "short" else len(part)
        self._answer(206 if first else 200, told, extra, length)
        self.close_connection = action is not None

    def do_PUT(self) -> None:
        key, query, headers, body = self._request()
        with self.bucket.lock:
            if "uploadId" in query:
                self.bucket.parts[query["uploadId"]][int(query["partNumber"])] = body
                return self._answer(200, b"", {"ETag": f'"{etag(body)}"'})
            if self.bucket.conditions == "refused" and {"if-match", "if-none-match"} & headers.keys():
                return self._answer(501, b"<Error><Code>NotImplemented</Code></Error>")
            if not self.bucket.allows(key, headers):
                return self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            self._answer(200, b"", self.bucket.put(key, body))

    def do_POST(self) -> None:
        key, query, _, body = self._request()
        with self.bucket.lock:
            if "delete" in query:
                doomed = re.findall(rb"<Key>(.*?)</Key>", body)
                for name in doomed:
                    self.bucket.objects.pop(unquote(name.decode()), None)
                self.bucket._sorted = []
                gone = b"".join(b"<Deleted><Key>%s</Key></Deleted>" % name for name in doomed)
                return self._answer(200, b"<DeleteResult>%s</DeleteResult>" % gone)
            if "uploads" in query:
                upload = f"upload-{len(self.bucket.parts)}"
                self.bucket.parts[upload] = {}
                told = f"<UploadId>{upload}</UploadId>"
                return self._answer(
                    200, f"<InitiateMultipartUploadResult>{told}</InitiateMultipartUploadResult>".encode()
                )
            parts = self.bucket.parts.pop(query["uploadId"])
            made = self.bucket.put(key, b"".join(parts[number] for number in sorted(parts)))
            told = f"<ETag>{made['ETag']}</ETag>"
            self._answer(200, f"<CompleteMultipartUploadResult>{told}</CompleteMultipartUploadResult>".encode(), made)

    def do_DELETE(self) -> None:
        key, query, _, _ = self._request()
        with self.bucket.lock:
            self.bucket.parts.pop(query.get("uploadId", ""), None)
            is_known = self.bucket.objects.pop(key, None) is not None
            self.bucket._sorted = []
        # Google says so where S3 does not care.
        self._answer(204 if is_known else 404, b"" if is_known else b"<Error><Code>NoSuchKey</Code></Error>")

    def _request(self) -> tuple[str, dict[str, str], dict[str, str], bytes]:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        key = unquote(url.path).lstrip("/").partition("/")[2]
        self.bucket.writes.append((self.command, key))
        return key, query, headers, body
