"""`tailrace demo`."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from tailrace.cli.options import Context, everywhere

CONFIG = """\
# Written by `tailrace demo`: three kinds of logs, three partitions.
partition "nginx_access_log" "shop" {{
  source "file" {{ paths = ["{logs}/nginx"] }}
}}

partition "aws_cloudtrail_log" "shop" {{
  source "file" {{
    paths       = ["{logs}/cloudtrail"]
    file_layout = `AWSLogs/%{{NUMBER:account_id}}/CloudTrail/%{{DATA:region}}/%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}/%{{DATA}}.json.gz`
  }}
}}

partition "aws_vpc_flow_log" "shop" {{
  source "file" {{
    paths       = ["{logs}/vpcflow"]
    file_layout = `AWSLogs/%{{NUMBER:account_id}}/vpcflowlogs/%{{DATA:region}}/%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}/%{{DATA}}.log.gz`
  }}
}}
"""  # noqa: E501

QUESTIONS = (
    (
        "Which page of the shop fails, and how often?",
        """\
select request_uri, count(*) as requests, count(*) filter (where status >= 500) as failed,
       round(100 * failed / requests, 1) as percent
from nginx_access_log group by all having failed > 0 order by failed desc limit 5""",
    ),
    (
        "Who logged in after several failures, and what did they do next?",
        """\
select tp_timestamp, event_name, user_identity.user_name as who, source_ip_address as "from",
       coalesce(error_message, response_elements ->> 'ConsoleLogin', '') as outcome
from aws_cloudtrail_log
where source_ip_address in (select source_ip_address from aws_cloudtrail_log
                            where response_elements ->> 'ConsoleLogin' = 'Failure')
order by tp_timestamp desc limit 5""",
    ),
    (
        "Where else was that address seen? One column, three logs.",
        """\
with seen as (
  select tp_table, tp_timestamp, tp_ips from nginx_access_log union all
  select tp_table, tp_timestamp, tp_ips from aws_cloudtrail_log union all
  select tp_table, tp_timestamp, tp_ips from aws_vpc_flow_log)
select tp_table, count(*) as events, min(tp_timestamp) as first_seen, max(tp_timestamp) as last_seen
from seen where list_contains(tp_ips, '203.0.113.66') group by all order by first_seen""",
    ),
)
YOURS = "select tp_timestamp, remote_addr, request_uri, status from nginx_access_log limit 5"


@click.command("demo")
@everywhere
def command(context: Context) -> None:
    """Sample logs → lake → first answers. Everything goes below <home>/demo and is made anew each time."""
    from tailrace.cli.collecting import Plan, collect
    from tailrace.cli.interrupts import Interrupts
    from tailrace.cli.lazy_session import LazySession
    from tailrace.cli.progress import shown_progress
    from tailrace.cli.samples import write_samples
    from tailrace.cli.settings import load_config, now, open_lake, session_options
    from tailrace.cli.summary import exit_code, print_summary
    from tailrace.core import TimeRange

    home = context.home_path / "demo"
    context = replace(context, home=str(home), config_path=(str(home / "config"),), workspace="default")
    began = time.monotonic()
    with Interrupts() as interrupts, LazySession(session_options(context), interrupts) as spark:
        _fresh(home)
        logs = home / "logs"
        write_samples(logs, now())
        (home / "config").mkdir(parents=True)
        (home / "config" / "demo.tpc").write_text(CONFIG.format(logs=logs))
        click.secho(f"Collecting sample logs from {logs}", bold=True)
        config = load_config(context)
        plan = Plan(config, list(config.partitions), open_lake(context), TimeRange())
        with shown_progress(sys.stderr.isatty(), context) as display:
            collected = collect(plan, spark, interrupts, display)
    reports = collected.reports
    print_summary(reports, "table", context, time.monotonic() - began)
    if collected.interrupted:
        raise KeyboardInterrupt
    code = exit_code(reports, None)
    if code:
        sys.exit(code)
    _ask(context)
    click.echo(
        f"\nThe lake is open Delta/Parquet below {home / 'data'}. Ask your own:\n"
        f'  {Context(home=str(home)).command} query "{YOURS}"'
    )


def _fresh(home: Path) -> None:
    for name in ("logs", "config", "data", "meta"):
        shutil.rmtree(home / name, ignore_errors=True)


def _ask(context: Context) -> None:
    from tailrace.cli.settings import open_lake
    from tailrace.query.engine import Engine
    from tailrace.query.render import render

    engine = Engine(open_lake(context))
    for question, sql in QUESTIONS:
        click.secho(f"\n{question}", bold=True)
        click.secho(sql, dim=True)
        for result in engine.run(sql):
            render(result, "table", sys.stdout)
        sys.stdout.flush()
