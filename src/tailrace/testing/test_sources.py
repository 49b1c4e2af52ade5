"""What every source promises: all artifacts are found, known again, and opened from anywhere."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tailrace.core import Artifact, SourceError, TimeRange
from tailrace.sources import Source, make_source
from tailrace.testing import subjects
from tailrace.testing.samples import Place

FILES = {"a.log": b"first\n", "b.log": b"second\nthird\n", "empty.log": b""}
NAMES = ("two words", 'it\'s "quoted"', "größe-日本", "line\nbreak", "100%41", "a+b&c=d;e")
ODD = {name: name.encode() for name in NAMES}
EVER = TimeRange()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    kinds = subjects.places()
    if {"kind", "place"} <= set(metafunc.fixturenames):
        metafunc.parametrize(("kind", "place"), kinds.items(), ids=kinds.keys())


def source_of(kind: str, place: Place, directory: Path, files: Mapping[str, bytes]) -> Source:
    return make_source(kind, dict(place(directory, files)))


def artifacts(source: Source, window: TimeRange = EVER) -> list[Artifact]:
    return [item for item in source.discover(window) if isinstance(item, Artifact)]


def contents(source: Source) -> list[bytes]:
    found = []
    for artifact in artifacts(source):
        with source.open(artifact) as file:
            found.append(file.read())
    return sorted(found)


def test_everything_is_found_and_opened(kind: str, place: Place, tmp_path: Path) -> None:
    source = source_of(kind, place, tmp_path, FILES)
    assert source.kind == kind
    assert source.late is None or source.late >= timedelta(0)
    assert contents(source) == sorted(FILES.values())


def test_nothing_is_found_in_an_empty_place(kind: str, place: Place, tmp_path: Path) -> None:
    assert artifacts(source_of(kind, place, tmp_path, {})) == []


def test_artifacts_say_what_they_are(kind: str, place: Place, tmp_path: Path) -> None:
    source = source_of(kind, place, tmp_path, FILES)
    found = artifacts(source)
    assert len({artifact.uri for artifact in found}) == len(FILES), "an URI is an identity"
    for artifact in found:
        assert "://" in artifact.uri
        assert artifact.source_type == kind
        assert artifact.version
        assert artifact.location
        with source.open(artifact) as file:
            assert len(file.read()) == artifact.size


def test_the_same_artifacts_in_the_same_order_again(kind: str, place: Place, tmp_path: Path) -> None:
    arguments = dict(place(tmp_path, FILES))
    assert artifacts(make_source(kind, arguments)) == artifacts(make_source(kind, arguments))


def test_a_change_changes_the_version_and_nothing_else(kind: str, place: Place, tmp_path: Path) -> None:
    before = {a.uri: a.version for a in artifacts(source_of(kind, place, tmp_path, FILES))}
    changed = FILES | {"a.log": b"first and more\n"}
    after = {a.uri: a.version for a in artifacts(source_of(kind, place, tmp_path, changed))}
    assert before.keys() == after.keys()
    uri = next(uri for uri in before if uri.endswith("a.log"))
    assert before[uri] != after[uri]


def test_odd_names(kind: str, place: Place, tmp_path: Path) -> None:
    assert contents(source_of(kind, place, tmp_path, ODD)) == sorted(ODD.values())


def test_a_source_travels_to_the_tasks(kind: str, place: Place, tmp_path: Path) -> None:
    source = source_of(kind, place, tmp_path, FILES)
    there: Source = pickle.loads(pickle.dumps(source))
    for artifact in artifacts(source):
        with source.open(artifact) as here, there.open(pickle.loads(pickle.dumps(artifact))) as away:
            assert here.read() == away.read()


def test_a_range_leaves_out_whole_days_only(kind: str, place: Place, tmp_path: Path) -> None:
    source = source_of(kind, place, tmp_path, FILES)
    window = TimeRange(datetime(2024, 1, 1), datetime(2024, 2, 1))
    listed = artifacts(source, window)
    for artifact in artifacts(source):
        day = artifact.day
        if day is None or datetime(2024, 1, 1).date() <= day < datetime(2024, 2, 1).date():
            assert artifact in listed, "who knows what is in it?"


def test_what_has_gone_is_a_clear_error(kind: str, place: Place, tmp_path: Path) -> None:
    source = source_of(kind, place, tmp_path, FILES)
    (artifact, *_) = artifacts(source)
    gone = replace(artifact, uri=artifact.uri + "-gone", location=artifact.location + "-gone")
    with pytest.raises(SourceError) as caught, source.open(gone) as file:
        file.read()
    assert caught.value.code.startswith("source.")


def test_every_source_of_a_package_has_a_place() -> None:
    assert not subjects.without_place(), "SOURCES of a module named under `tailrace.testing` lacks these"
