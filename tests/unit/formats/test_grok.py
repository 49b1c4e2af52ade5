from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core import ConfigError, Grok
from tailrace.formats.grok import compiled
from tailrace.formats.grok_patterns import standard_patterns

GOOD = [
    ("INT", "-12"),
    ("NUMBER", "3.14"),
    ("NUMBER", ".5"),
    ("BASE16NUM", "0xDEADbeef"),
    ("UUID", "123e4567-e89b-12d3-a456-426614174000"),
    ("QS", r'"say \"hi\""'),
    ("QS", "'single'"),
    ("IP", "192.168.0.255"),
    ("IPV6", "2001:db8::1"),
    ("IPV6", "::"),
    ("IPV6", "::1"),
    ("IPV6", "fe80::1%eth0"),
    ("IPV6", "1:2:3:4:5:6:7:8"),
    ("IPV6", "::ffff:10.0.0.1"),
    ("IPV6", "64:ff9b::192.0.2.33"),
    ("IPORHOST", "web-01.example.com"),
    ("HOSTPORT", "db.internal:5432"),
    ("MAC", "00:1A:2b:3c:4d:5e"),
    ("EMAILADDRESS", "first.last+tag@example.org"),
    ("PATH", "/var/log/app.log"),
    ("PATH", r"C:\Windows\System32"),
    ("URI", "https://user:pw@example.com:8443/a/b?c=d&e=f"),
    ("TIMESTAMP_ISO8601", "2024-02-29T23:59:60.123Z"),
    ("TIMESTAMP_ISO8601", "2024-02-29 23:59:59,001+02:00"),
    ("HTTPDATE", "10/Oct/2000:13:55:36 -0700"),
    ("SYSLOGTIMESTAMP", "Jan  2 03:04:05"),
    ("DATESTAMP_RFC2822", "Mon, 12 Feb 2024 10:00:00 +0000"),
    ("LOGLEVEL", "WARNING"),
    ("JAVACLASS", "org.example.Main"),
    ("COMMONAPACHELOG", '1.2.3.4 - bob [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326'),
    ("REDISLOG2", "42:M 12 Feb 2024 10:00:00.001 * Ready to accept connections"),
    ("MONGO3_LOG", "2024-02-12T10:00:00.123+0000 I NETWORK  [listener] connection accepted"),
    ("NAGIOSLOGLINE", "[1427925600] SERVICE ALERT: web;HTTP;CRITICAL;HARD;3;timeout"),
    ("CISCO_TAGGED_SYSLOG", "<166>Apr 25 2013 16:53:19: %ASA-6-302013:"),
    ("SYSLOG5424LINE", '<34>1 2024-10-11T22:14:15.003Z host su - ID47 [a b="c"] it failed'),
    ("MAVEN_VERSION", "1.2.3-SNAPSHOT"),
]
BAD = [("IPV4", "256.1.1.1"), ("IPV6", "1:2:3"), ("INT", "a"), ("HTTPDATE", "32/Foo/2000:13:55:36 -0700")]


@pytest.mark.parametrize(("name", "text"), GOOD)
def test_standard_pattern_matches_its_kind(name: str, text: str) -> None:
    assert re.fullmatch(compiled(Grok(f"%{{{name}:x}}")).text, text)


@pytest.mark.parametrize(("name", "text"), BAD)
def test_standard_pattern_refuses_others(name: str, text: str) -> None:
    assert not re.fullmatch(compiled(Grok(f"%{{{name}:x}}")).text, text)


def test_every_standard_pattern_runs_in_linear_time() -> None:
    for name in standard_patterns():
        pc.extract_regex(pa.array(["abc"]), compiled(Grok(f"%{{{name}:whole}}")).text)
    assert len(standard_patterns()) > 300


def test_captures_know_field_and_type() -> None:
    expression = compiled(Grok("%{INT:[http][status]:int} %{NUMBER:took:float} (?<a.b>x) (?P<c>y) %{WORD} %{WORD:c}"))
    assert [(c.field, c.type) for c in expression.captures] == [
        ("http.status", "bigint"),
        ("took", "double"),
        ("a.b", None),
        ("c", None),
        ("c", None),
    ]
    assert expression.fields == ("http.status", "took", "a.b", "c")
    assert expression.types == {"http.status": "bigint", "took": "double"}


def test_own_patterns_win_and_nest() -> None:
    own = (("WORD", "[a-c]+"), ("PAIR", "%{WORD:left}-%{WORD:right}"))
    expression = compiled(Grok("<%{PAIR}>", own))
    found = re.search(expression.text, "x<ab-ca>")
    assert found
    assert found.groups() == ("ab", "ca")
    assert not re.search(expression.text, "<ab-de>")


def test_text_in_sets_and_after_backslashes_is_left_alone() -> None:
    found = re.search(compiled(Grok(r"[%{(?<a>]+ \%{INT\} %{INT:n}")).text, "%{( %{INT} 7")
    assert found
    assert found.groups() == ("7",)


@pytest.mark.parametrize(
    ("layout", "patterns", "message", "where"),
    [
        ("%{IPP:x}", (), "unknown grok pattern 'IPP'", "grok layout, character 1"),
        ("%{A:x}", (("A", "%{B}"), ("B", " %{A}")), "contains itself: A → B → A", "pattern B, character 2"),
        ("a %{IP client}", (), "cannot read '%{IP client}'", "grok layout, character 3"),
        ("%{X:x}", (("X", "ab(c"),), "missing )", "pattern X"),
        ("%{IP:x} *+*", (), "multiple repeat", "grok layout"),
        ("%{INT:x:itn}", (), "unknown grok type 'itn'", "grok layout, character 1"),
        ("%{INT}", (), "captures no field", ""),
    ],
)
def test_errors_say_where(layout: str, patterns: tuple[tuple[str, str], ...], message: str, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compiled(Grok(layout, patterns))
    assert message in caught.value.message
    assert (caught.value.where or "").startswith(where)


def test_nearest_name_is_offered() -> None:
    with pytest.raises(ConfigError) as caught:
        compiled(Grok("%{TIMESTAMP_ISO8610:t}"))
    assert caught.value.hint == "did you mean 'TIMESTAMP_ISO8601'?"


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(1, 5))
def test_nested_own_patterns_match_what_they_spell(letters: list[str], depth: int) -> None:
    own = {f"L{i}": f"%{{L{i + 1}}}" for i in range(depth)}
    own[f"L{depth}"] = "".join(letters)
    expression = compiled(Grok("%{L0:outer}/%{L0:again}", tuple(own.items())))
    word = "".join(letters)
    found = re.fullmatch(expression.text, f"{word}/{word}")
    assert found
    assert found.groups() == (word, word)
