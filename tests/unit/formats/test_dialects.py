from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from layoutread import read

from tailrace.core import ConfigError, Layout
from tailrace.formats.dialects import Field, Literal, header_fields, parse_layout
from tailrace.tables.apache_access_log import TABLE as APACHE

CLF = "%d/%b/%Y:%H:%M:%S %z"


def test_words() -> None:
    assert parse_layout(Layout('addr - [time] "request" status ?"agent" ?tail')) == (
        Field("addr"),
        Literal(" - "),
        Field("time", "bracketed"),
        Literal(" "),
        Field("request", "quoted"),
        Literal(" "),
        Field("status"),
        Literal(" "),
        Field("agent", "quoted", optional=True),
        Literal(" "),
        Field("tail", optional=True),
    )


def test_nginx() -> None:
    text = '$remote_addr - ${remote_user} [$time_local] "$request" $upstream_addr '
    text += '$host:$server_port "$a_b $status"'
    tokens = parse_layout(Layout(text, "nginx"))
    assert tokens == (
        Field("remote_addr", "address"),
        Literal(" - "),
        Field("remote_user"),
        Literal(" "),
        Field("time_local", "bracketed"),
        Literal(" "),
        Field("request", "quoted"),
        Literal(" "),
        Field("upstream_addr", "list"),
        Literal(" "),
        Field("host"),
        Literal(":"),
        Field("server_port"),
        Literal(' "'),
        Field("a_b"),
        Literal(" "),
        Field("status"),
        Literal('"'),
    )


def test_nginx_slips_are_named_with_the_nearest_and_other_names_are_variables_of_its_configuration() -> None:
    with pytest.raises(ConfigError, match=r"\$remote_adr \(did you mean \$remote_addr\?\), \$statuss \(.*\)\n"):
        parse_layout(Layout("$remote_adr $zzzzzz $statuss", "nginx"))
    assert parse_layout(Layout("$status $api_status", "nginx"))[-1] == Field("api_status")


def names(text: str) -> str:
    return " ".join(t.name for t in parse_layout(Layout(text, "apache")) if isinstance(t, Field))


def test_apache() -> None:
    tokens = parse_layout(Layout('%v:%p %h %l %u %t \\"%r\\" %>s %b "%{Referer}i" %% %{X-Id}o', "apache"))
    assert [t for t in tokens if isinstance(t, Field)] == [
        Field("server_name"),
        Field("server_port"),
        Field("remote_addr", "address"),
        Field("remote_logname"),
        Field("remote_user"),
        Field("timestamp", "bracketed", time=CLF),
        Field("request", "quoted"),
        Field("status"),
        Field("body_bytes_sent"),
        Field("http_referer", "quoted"),
        Field("sent_http_x_id", "spaced"),
    ]
    assert Literal(" % ") in tokens


def test_apache_directives() -> None:
    assert names("%a %A %B %D %f %H %k %m %P %q %R %s %T %U %V %X %I %O %S") == (
        "remote_addr local_addr body_bytes_sent request_time_us filename server_protocol keepalive_requests "
        "request_method pid query_string handler status request_time request_uri server_name "
        "connection_status bytes_received bytes_sent bytes_transferred"
    )
    assert names("%{c}a %{local}p %{remote}p %{tid}P %{hextid}P %{ms}T %<s %!200,304b %{User-agent}i") == (
        "remote_addr apache_port client_port thread_id hex_thread_id request_time_ms status "
        "body_bytes_sent http_user_agent"
    )
    assert (
        names("%h %{c}h %{FOO}e %{a}n %{Sid}C %{SSL_CIPHER}x")
        == "remote_addr remote_addr_2 env_foo note_a cookie_sid ssl_cipher"
    )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[%{%Y-%m-%d %T}t]", Field("timestamp", "bracketed", time="%Y-%m-%d %H:%M:%S")),
        ("%{%F %T}t", Field("timestamp", "spaced", time="%Y-%m-%d %H:%M:%S")),
        ("%{begin:msec}t", Field("timestamp", time="epoch_ms")),
    ],
)
def test_apache_times(text: str, field: Field) -> None:
    assert parse_layout(Layout(text, "apache")) == (field,)


@pytest.mark.parametrize(
    ("layout", "written", "time"),
    [
        ("[%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t] %s", "[05/Jul/2024:12:00:01.250 +0200] 200", "10:00:01.250"),
        ("%{%F %T}t.%{usec_frac}t %s", "2024-07-05 10:00:01.250001 200", "10:00:01.250001"),
        ("%{sec}t.%{msec_frac}t %s", "1720173601.250 200", "10:00:01.250"),
        ("%{begin:%Y-%m-%dT%T}t.%{begin:msec_frac}t %s", "2024-07-05T10:00:01.25 200", "10:00:01.250"),
        ("%t %{cipher}c %s", "[05/Jul/2024:12:00:01 +0200] ECDHE-RSA 200", "10:00:01"),
    ],
)
def test_apache_times_of_several_directives(layout: str, written: str, time: str) -> None:
    (row,) = read(replace(APACHE, format=Layout(layout, "apache")), written.encode()).rows
    assert (row["timestamp"], row["status"]) == (datetime.fromisoformat(f"2024-07-05 {time}"), 200)


def test_apache_unknown() -> None:
    with pytest.raises(ConfigError, match=r"%Z, %\{q\}T"):
        parse_layout(Layout("%h %Z %{q}T", "apache"))


def test_vpc() -> None:
    want = (Field("version", "digits"), Literal(" "), Field("src_addr"), Literal(" "), Field("vpc_id"))
    assert parse_layout(Layout("version srcaddr vpc-id", "vpc")) == want
    assert parse_layout(Layout("${version} ${srcaddr} ${vpc-id}", "vpc")) == want
    with pytest.raises(ConfigError, match="vpcid"):
        parse_layout(Layout("version vpcid", "vpc"))
    assert header_fields(Layout("version", "vpc"), "version  new-field end") == (
        Field("version"),
        Literal(" "),
        Field("new_field"),
        Literal(" "),
        Field("end_time"),
    )


def test_rename_and_empty() -> None:
    assert parse_layout(Layout("a b", rename=(("b", "c"),)))[2] == Field("c")
    with pytest.raises(ConfigError, match="no field"):
        parse_layout(Layout("- -"))
    with pytest.raises(ConfigError, match="dialect"):
        parse_layout(Layout("a", "iis"))
