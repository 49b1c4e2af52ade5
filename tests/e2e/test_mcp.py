"""`tailrace mcp`, driven by the official client of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import PATIENCE, Home
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from weblake import ROWS, made_web

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3"
Talk = Callable[[ClientSession], Awaitable[None]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    world = made_web(tmp_path_factory.mktemp("mcp"))
    (world.home / "secret.txt").write_text("canary")
    return Home(world.home)


def talk(home: Home, talked: Talk, *options: str, stateless: bool = False) -> None:
    """A whole conversation with a server of its own."""
    arguments = ["-m", "tailrace.cli.main", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=home.environment())

    async def conversation() -> None:
        async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
            await (session.discover() if stateless else session.initialize())
            await talked(session)

    asyncio.run(asyncio.wait_for(conversation(), PATIENCE))
    home.assert_no_process_is_left()


async def ask(session: ClientSession, name: str, **given: object) -> Any:
    done = await session.call_tool(name, given)
    data = json.loads(done.model_dump_json(by_alias=True))
    text = data["content"][0]["text"]
    if data["isError"]:
        raise AssertionError(text)
    assert json.loads(text) == data["structuredContent"]
    return data["structuredContent"]


async def refused(session: ClientSession, name: str, **given: object) -> str:
    done = await session.call_tool(name, given)
    data = json.loads(done.model_dump_json(by_alias=True))
    assert data["isError"], data
    text: str = data["content"][0]["text"]
    return text


@pytest.mark.parametrize("stateless", [False, True])
def test_an_assistant_finds_its_way(home: Home, stateless: bool) -> None:
    async def talked(session: ClientSession) -> None:
        tools = await session.list_tools()
        assert {tool.name for tool in tools.tools} >= {"list_tables", "describe_table", "query"}
        assert all(tool.description for tool in tools.tools)
        (table,) = (await ask(session, "list_tables"))["tables"]
        assert (table["name"], table["rows"]) == ("nginx_access_log", 2 * ROWS)
        described = await ask(session, "describe_table", table=table["name"])
        assert described["queries"]
        for query in (await ask(session, "suggest_queries", table=table["name"]))["queries"]:
            await ask(session, "query", sql=query["sql"])
        counted = await ask(session, "query", sql="select count(*) as n from nginx_access_log", to="2024-05-02")
        assert counted == {"columns": {"n": "BIGINT"}, "rows": [{"n": ROWS}]}
        assert (await ask(session, "list_partitions"))["partitions"][0]["name"] == "nginx_access_log.web"
        assert (await ask(session, "recent_collections"))["changes"]

    talk(home, talked, stateless=stateless)


def test_it_is_kept_in_its_place(home: Home, tmp_path: Path) -> None:
    secret, target = home.path / "secret.txt", tmp_path / "written.csv"

    async def talked(session: ClientSession) -> None:
        for sql in (
            f"from read_text('{secret}')",
            f"from '{secret}'",
            f"copy (select 1) to '{target}'",
            f"attach '{target}'",
            "install httpfs",
            "load httpfs",
            "from 'http://127.0.0.1:1/x.csv'",
            "set enable_external_access = true",
            "set lock_configuration = false",
            "create table x as select 1",
        ):
            assert "canary" not in await refused(session, "query", sql=sql)
        assert "timeout" in await refused(session, "query", sql=ENDLESS)
        found = await ask(session, "query", sql="from nginx_access_log", limit=1000)
        assert (len(found["rows"]), "truncated" in found) == (50, True)

    talk(home, talked, "--timeout", "2", "--max-rows", "50", "--memory", "256MB")
    assert not target.exists()


def test_mistakes_leave_it_running(home: Home) -> None:
    async def talked(session: ClientSession) -> None:
        assert "nginx_access_log" in await refused(session, "query", sql="from nginx_acess_log")
        assert "sql" in await refused(session, "query")
        with pytest.raises(Exception, match="no tool"):
            await session.call_tool("nothing", {})
        assert (await ask(session, "query", sql="select 1 as one"))["rows"] == [{"one": 1}]

    talk(home, talked)


def test_a_broken_configuration_does_not_stand_in_the_way(home: Home, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tpc"
    broken.write_text('table "x" {')

    async def talked(session: ClientSession) -> None:
        assert (await ask(session, "query", sql="select count(*) as n from nginx_access_log"))["rows"] == [{"n": 200}]
        assert "error[config" in await refused(session, "list_tables")

    talk(home, talked, "--config-path", str(broken))


def test_stdout_holds_the_protocol_alone(home: Home) -> None:
    done = home.run("mcp", stdin='{"jsonrpc":"2.0","id":1,"method":"ping"}\nno json\n')
    assert done.code == 0
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == [1, None]
