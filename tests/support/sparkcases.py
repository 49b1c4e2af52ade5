"""A small lake with a column of every type, and SQL over it that DuckDB and Spark have to answer alike."""

from __future__ import annotations

from typing import Any

CONFIG = """
table "things" {{
  column "seen" {{ type = "timestamp" }}
  column "n" {{ type = "bigint" }}
  column "x" {{ type = "double" }}
  column "d" {{ type = "decimal(18,3)" }}
  column "word" {{ type = "varchar" }}
  column "j" {{ type = "json" }}
  column "words" {{ type = "varchar[]" }}
  column "ip" {{ type = "varchar" }}
  column "half" {{ type = "float" }}
  column "day" {{ type = "date" }}
}}
schema "first_day" {{
  end_date = "2024-05-01"
}}
partition "things" "main" {{
  source "file" {{
    paths  = ["{root}/things.jsonl"]
    format = format.jsonl.plain
  }}
}}
format "jsonl" "plain" {{}}
"""
WORDS = ("alpha", "beta\\x", "ga.mm.a", None, "it's 50%", "")
JSONS = (
    {"a": "x", "b": None, "c": [1, {"d": "e"}], "k.l": 1.5},
    {"a": {"b": {"c": "deep"}}, "text": '{"inner": 1}'},
    ["first", {"a": "y"}],
    None,
    {"a": 3},
)
ADDRESSES = ("10.1.2.3", "192.168.0.7", "2001:db8::5", "no address", None)


def rows() -> list[dict[str, Any]]:
    return [
        {
            "seen": f"2024-05-{1 + i // 20:02}T{i % 24:02}:{i * 7 % 60:02}:{i * 13 % 60:02}.{i * 37 % 1000:03}Z",
            "n": None if i % 9 == 8 else i % 7,
            "x": None if i % 11 == 10 else i / 3 - 5,
            "d": i * 1.125,
            "word": WORDS[i % len(WORDS)],
            "j": JSONS[i % len(JSONS)],
            "words": [f"w{i % 3}", f"w{i % 5}"] if i % 4 else [],
            "ip": ADDRESSES[i % len(ADDRESSES)],
            "half": i % 5 / 10,
            "day": f"2024-05-{1 + i % 28:02}",
        }
        for i in range(40)
    ]


EXPRESSIONS = (
    "j ->> 'a'",
    "j -> 'a'",
    "j -> 'b'",
    "j ->> 'k.l'",
    "j -> 'a' -> 'b' ->> 'c'",
    "j -> 'c' -> 1 ->> 'd'",
    "j.a",
    "j['a']",
    "j[1].a",
    "j ->> '$.c[1].d'",
    "json_extract(j, '$.c[*]')",
    "j -> 'text' -> 'inner'",
    "(j ->> 'text') ->> 'inner'",
    "json_keys(j)",
    "json_array_length(j)",
    "json_array_length(j -> 'c')",
    "json_contains(j, '{\"d\":\"e\"}')",
    "json_extract(j, '$.' || case when n = 1 then 'a' else 'c' end)",
    "from_json(j -> 'c', '[\"JSON\"]')",
    "(j ->> 'a') = '3'",
    "try_cast(j ->> 'a' as int)",
    "words[1]",
    "words[-1]",
    "words[3]",
    "len(words)",
    "list_contains(words, 'w1')",
    "words @> ['w1']",
    "epoch_ms(seen)",
    "epoch(seen)",
    "epoch_ms(n)",
    "epoch_us(seen)",
    "strftime(seen, '%Y-%m-%d %H:%M:%S.%g')",
    "strftime(seen, '%b %d %A at %-d')",
    "strftime(day, '%j')",
    "date_trunc('hour', seen)",
    "date_trunc('week', seen)",
    "extract(dow from seen)",
    "dayname(seen)",
    "hour(seen)",
    "extract(second from seen)",
    "date_part('week', seen)",
    "monthname(day)",
    "last_day(day)",
    "date_diff('minute', seen, timestamp '2024-05-02')",
    "date_diff('day', seen, timestamp '2024-05-03')",
    "date_diff('month', seen, timestamp '2024-07-01')",
    "day - date '2024-05-01'",
    "day - interval '36 hours'",
    "n / 2",
    "n / n",
    "d / 3",
    "x / n",
    "n // 2",
    "n % 3",
    "x::int",
    "d::bigint",
    "n::varchar",
    "try_cast(word as int)",
    "seen::date",
    "day::timestamp",
    "n::double",
    "word like '%\\x'",
    "word ilike 'ALPHA'",
    "regexp_matches(word, 'a$')",
    "regexp_extract(word, '([a-z]+)\\.')",
    "regexp_replace(word, '[a-z]', '#')",
    "regexp_replace(word, '([aeiou])', '<\\1>', 'g')",
    "word like '%50$%' escape '$'",
    "string_split(word, '.')[2]",
    "split_part(word, '.', 2)",
    "length(word)",
    "concat(word, n, null)",
    "word || 'x'",
    "substr(word, 2, 3)",
    "strpos(word, 'm')",
    "trim(word, 'a')",
    "replace(word, 'a', 'b')",
    "left(word, 2)",
    "isnan(x)",
    "list_distinct(words)",
    "range(n)",
    "range(5, n + 5, 2)",
    "range(n, 1, -2)",
    "range(5, 1)",
    "generate_series(n, 3)",
    "generate_series(5, 1)",
    "generate_series(n, 0, -1)",
    "isodow(day)",
    "week(seen)",
    "json(j)",
    "try_strptime(word, '%Y')",
    "try_strptime((n + 1) || '/4/24', '%d/%m/%y')",
    "strptime(day::varchar, '%Y-%m-%d')",
    "try_cast(n || '.5' as int)",
    "try_cast(j ->> 'a' as double)",
    "try_cast('202' || n as date)",
    "try_cast(seen::varchar as timestamp)",
    "levenshtein(word, 'é')",
    "isinf(x / n)",
    "chr(233)",
    "json_type(j)",
    "right(word, 2)",
    "date_trunc('mins', seen)",
    "date_trunc('days', day)",
    "date_trunc('ms', seen)",
    "date_diff('mins', seen, timestamp '2024-05-02')",
    "epoch_ms(seen + interval '600 microseconds')",
    "epoch_ms(timestamp '1969-12-31 23:59:59.9985')",
    "make_timestamp(1714600000123456)",
    "2.5::int",
    "(n - 4.5)::int",
    "(x * 0.5)::int",
    "d // 2",
    "half = 0.1",
    "half in (0.1, 1)",
    "half * 3 > 0.3",
    "half between 0.1 and 0.2",
    "(x * 1e9)::varchar",
    "half || ' s'",
    "concat(x / 1e9, 's')",
    "concat_ws('-', x * 1e9, n)",
    "(seen at time zone 'UTC')::varchar",
    "seen at time zone 'America/New_York'",
    "seen at time zone 'America/New_York' at time zone 'Europe/Berlin'",
    "flatten([words, null, ['z']])",
    "list_concat(nullif(words, []), ['z'])",
    "list_concat(nullif(words, []), null::varchar[])",
    "len(list_filter(words, lambda x: x = 'w1'))",
    "try_cast(ip as inet) <<= '10.0.0.0/8'::inet",
    "try_cast(ip as inet) <<= '2001:db8::/32'::inet",
)  # fmt: skip
QUERIES = {
    "unnest": "select n, unnest(words) as w, upper(unnest(words)) as u from things",
    "unnest in from": "select n, u, u.unnest from things, unnest(words) as u where u <> 'w0'",
    "series": "select i, n from things, generate_series(1, 2) as i where n = i",
    "computed series": "select i.generate_series as i, n from things, generate_series(1, greatest(n, 2)) as i",
    "unnested json": """
        with parts as (select n, unnest(from_json(j -> 'c', '["JSON"]')) as part from things) select n, part ->>
        'd' as d, part from parts
    """,
    "distinct on": "select distinct on (n) n, word as label from things order by n, x desc, tp_id",
    "filters": "select n, count(*) filter (where x > 0), sum(d) filter (where word is null) from things group by all",
    "groups by name": """
        select n % 2 as odd, count(*) as c, avg(d) as a from things group by odd having c > 1 order by odd
    """,
    "alias in where": "select n * 2 as double_n from things where double_n > 4",
    "time_bucket": """
        select time_bucket(interval '5 minutes', seen) as b, time_bucket(interval '1 month', seen),
        time_bucket(interval '7 days', day), count(*) from things group by all
    """,
    "rounding": "select round(x, 2), round(avg(d), 2), ceil(x), floor(x), abs(x) from things group by x",
    "lists of groups": "select n, list(word order by tp_id), array_agg(distinct word) from things group by n",
    "texts of groups": """
        select n, string_agg(distinct word, ', ' order by word), string_agg(n) from things group by n
    """,
    "quantiles": """
        select percentile_cont(0.9) within group (order by x), median(n), quantile_cont(x, 0.25), max(word),
        count(distinct word), arg_max(tp_id, d), max_by(word, d), min_by(word, d), bool_or(n > 3) from things
    """,
    "windows": """
        select tp_id, lag(n) over (order by tp_id), row_number() over (partition by n order by d desc), sum(n)
        over (partition by word) from things
    """,
    "qualify": "select tp_id, n from things qualify row_number() over (partition by n order by tp_id) = 1",
    "order": "select n, word from things order by n desc, word, tp_id limit 7",
    "union": "select n from things where n > 3 union select n from things where n < 2 order by n",
    "joins": "select a.n, count(*) from things a join things b on a.n = b.n and a.tp_id < b.tp_id group by a.n",
    "sub-queries": """
        select n from things where n > (select avg(n) from things) and word in (select word from things where n
        = 1)
    """,
    "shadowed name": "with things as (select n from things where n > 4) select count(*) from things",
    "schema": "select count(*) from first_day.things",
    "star": "select * exclude (tp_ingest_timestamp) from things where n = 3",
    "same names": "select n, n, n as m from things where n = 1",
    "values alone": """
        select 1 as one, 'it''s \\n' as text, null as nothing, [1, 2] as list, {'a': 1} as pair, 1.50 as money
    """,
    "spans": "select n, max(seen) - min(seen) as span from things group by n",
    "long decimals": """
        with long as (select d, 12345678901234567890.123456789::decimal(38, 9) + d as long from things)
        select long * 2, long * 1.5, long + long, long - d, sum(long) from long group by all
    """,
    "quarantine": "select count(*) from tp_quarantine",
    "nothing": "select n, word from things where n = 99",
}  # fmt: skip
