"""Unfinished blocks of the documents: prose, open braces, misspellings, repeated attributes, undefined names."""

from __future__ import annotations

import pytest
from configtold import refused
from documents import CONNECTIONS, CSV_FIELDS, CUSTOM_TABLE, DEV_SOURCE, SOURCES

NO_CONNECTION = 'declare it: connection "aws" "{0}" {{ … }}'
REFUSED = [
    pytest.param(
        'collection "aws_cloudtrail_log" "production" { \n  ...\n}',
        ["2: '...' stands for nothing → write out what is meant"],
        id="dots",
    ),
    pytest.param(
        'collection "prod_trail" { \n    type = "aws_cloudtrail_log"\n}',
        ['1: collection prod_trail has no source → add source "file" { paths = ["…"] }'],
        id="no source",
    ),
    pytest.param(
        SOURCES,
        [
            "3: connection.aws.prod does not exist → " + NO_CONNECTION.format("prod"),
            "9: connection.aws.prod does not exist → " + NO_CONNECTION.format("prod"),
            "14: connection.aws.dev does not exist → " + NO_CONNECTION.format("dev"),
        ],
        id="undefined connections",
    ),
    pytest.param(
        f'{CONNECTIONS}collection "aws_flowlog" "dev_s3" {{\n{DEV_SOURCE}'
        '  source_format = "${version} ${vpc-id}"\n'
        '  source_format = {\n    type = "delimited"\n  }\n}',
        ["11: 'source_format' is given twice → it is already set in line 10; keep one of them"],
        id="two formats at once",
    ),
    pytest.param(
        CONNECTIONS + CUSTOM_TABLE + f'collection "my-stuff" {{\n  type = table.my_custom_table\n{DEV_SOURCE}'
        f'  source_format = {{\n    type              = "delimeted"\n    {CSV_FIELDS}\n  }}\n}}',
        ["38: unknown format type 'delimeted' → did you mean 'delimited'?"],
        id="misspelt format type",
    ),
    pytest.param(
        CONNECTIONS + 'collection "aws_flowlog" "all" {\n  source "aws_s3" {\n    paths  = ["s3://b/*"]\n'
        "    format = format.my_flowlogs_prod\n  }\n}",
        ['7: format.my_flowlogs_prod does not exist → declare it: format "my_flowlogs_prod" { … }'],
        id="undefined format",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problems"), REFUSED)
def test_what_its_author_is_told(text, problems):
    assert refused(text) == problems
