"""DuckDB's SQL as Spark gets it: text in, text out, no JVM."""

from __future__ import annotations

import re

import pytest

from tailrace.core.errors import QueryError
from tailrace.query.spark.translate import translate

TYPES = {
    "n": "BIGINT",
    "x": "DOUBLE",
    "d": "DECIMAL(18,3)",
    "word": "VARCHAR",
    "ts": "TIMESTAMP",
    "day": "DATE",
    "j": "JSON",
    "s": 'STRUCT("a" VARCHAR, "j" JSON)',
    "words": "VARCHAR[]",
    "numbers": "BIGINT[]",
}


def _spark(sql: str) -> str:
    """Without the quotes of names, and names without their table: that is how a person would write it."""
    text = translate(sql, lambda schema, name: "v1" if name == "t" else None, {"v1": TYPES})
    return text.replace("`", "").replace("t.", "").replace(" FROM v1 AS t", "")


EXPRESSIONS = {
    # JSON
    "j ->> 'a'": "GET_JSON_OBJECT(j, '$.a')",
    "j ->> 'a.b'": "GET_JSON_OBJECT(j, '$[\\'a.b\\']')",
    "j -> 'a' -> 0 ->> 'b'": "GET_JSON_OBJECT(j, '$.a[0].b')",
    "j ->> '$.a[1].\"b c\"'": "GET_JSON_OBJECT(j, '$.a[1].b c')",
    "(j ->> 'a') ->> 'b'": "GET_JSON_OBJECT((GET_JSON_OBJECT(j, '$.a')), '$.b')",
    "json_extract_string(j, '$.a')": "GET_JSON_OBJECT(j, '$.a')",
    "j -> 0": "GET_JSON_OBJECT(CONCAT('[', j, ']'), '$[*][0]')",
    "j -> 'a'": (
        "COALESCE(GET_JSON_OBJECT(CONCAT('[', j, ']'), '$[*].a'), "
        "IF(ARRAY_CONTAINS(JSON_OBJECT_KEYS(j), 'a'), 'null', NULL))"
    ),
    "j.a.b": (
        "COALESCE(GET_JSON_OBJECT(CONCAT('[', j, ']'), '$[*].a.b'), "
        "IF(ARRAY_CONTAINS(JSON_OBJECT_KEYS(GET_JSON_OBJECT(CONCAT('[', j, ']'), '$[*].a')), 'b'), 'null', NULL))"
    ),
    "j[0]": "GET_JSON_OBJECT(CONCAT('[', j, ']'), '$[*][0]')",
    "s.j ->> 'a'": "GET_JSON_OBJECT(s.j, '$.a')",
    "json_extract(j, '$.' || word)": "TAILRACE_JSON_EXTRACT(j, '$.' || word)",
    "j ->> '$.a[*].b'": "TAILRACE_JSON_EXTRACT_ALL_STRING(j, '$.a[*].b')",
    "json_contains(j -> 'a', '{}')": (
        "TAILRACE_JSON_CONTAINS(COALESCE(GET_JSON_OBJECT(CONCAT('[', j, ']'), '$[*].a'), "
        "IF(ARRAY_CONTAINS(JSON_OBJECT_KEYS(j), 'a'), 'null', NULL)), '{}')"
    ),
    "json_contains(j, '{}')": "TAILRACE_JSON_CONTAINS(j, '{}')",
    "from_json(j, '[\"JSON\"]')": "TAILRACE_JSON_LIST(j)",
    "json_keys(j)": "IF(j IS NULL, NULL, COALESCE(JSON_OBJECT_KEYS(j), ARRAY()))",
    "json_array_length(j)": "IF(j IS NULL, NULL, COALESCE(JSON_ARRAY_LENGTH(j), 0))",
    "cast(j -> 'a' as double)": "CAST(GET_JSON_OBJECT(j, '$.a') AS DOUBLE)",
    "s ->> 'a'": "GET_JSON_OBJECT(TO_JSON(s, MAP('ignoreNullFields', 'false')), '$.a')",
    "json(s)": "TO_JSON(s, MAP('ignoreNullFields', 'false'))",
    # structs and lists
    "s.a": "s.a",
    "words[1]": "TRY_ELEMENT_AT(words, 1)",
    "words[-1]": "TRY_ELEMENT_AT(words, -1)",
    "words[n]": "TRY_ELEMENT_AT(words, n)",
    "s['a']": "s.a",
    "len(words)": "ARRAY_SIZE(words)",
    "list_contains(words, 'a')": "ARRAY_CONTAINS(words, 'a')",
    "'a' in words": "ARRAY_CONTAINS(words, 'a')",
    "word in ('a', 'b')": "word IN ('a', 'b')",
    "contains(words, 'a')": "ARRAY_CONTAINS(words, 'a')",
    "contains(word, 'a')": "CONTAINS(word, 'a')",
    "words @> ['a']": "(ARRAY_SIZE(ARRAY_EXCEPT(ARRAY('a'), words)) = 0)",
    "list_has_any(words, ['a'])": "ARRAYS_OVERLAP(words, ARRAY('a'))",
    "array_agg(n)": (
        "IF(ARRAY_SIZE(COLLECT_LIST(NAMED_STRUCT('v', n))) = 0, NULL, "
        "TRANSFORM(COLLECT_LIST(NAMED_STRUCT('v', n)), e -> e.v))"
    ),
    # times
    "time_bucket(interval '5 minutes', ts)": (
        "CAST(TIMESTAMP_MICROS(UNIX_MICROS(CAST(ts AS TIMESTAMP)) - "
        "PMOD(UNIX_MICROS(CAST(ts AS TIMESTAMP)) - 946857600000000, 300000000)) AS TIMESTAMP_NTZ)"
    ),
    "epoch_ms(ts)": "(ROUND(UNIX_MICROS(CAST(ts AS TIMESTAMP)), -3) DIV 1000)",
    "epoch_ms(n)": "CAST(TIMESTAMP_MILLIS(n) AS TIMESTAMP_NTZ)",
    "epoch(ts)": "UNIX_MICROS(CAST(ts AS TIMESTAMP)) / 1000000D",
    "strftime(ts, '%Y-%m-%dT%H:00 at %b')": "DATE_FORMAT(ts, 'yyyy-MM-dd\\'T\\'HH\\':00 at \\'MMM')",
    "date_trunc('hour', ts)": "CAST(DATE_TRUNC('HOUR', ts) AS TIMESTAMP_NTZ)",
    "now()": "LOCALTIMESTAMP()",
    "day - interval '7 days'": "CAST(day AS TIMESTAMP_NTZ) - INTERVAL '7' DAYS",
    "day - day": "DATEDIFF(day, day)",
    "date_diff('minute', ts, now())": (
        "TIMESTAMPDIFF(MINUTE, DATE_TRUNC('MINUTE', ts), DATE_TRUNC('MINUTE', LOCALTIMESTAMP()))"
    ),
    "extract(dow from ts)": "(DAYOFWEEK(ts) - 1)",
    "extract(hour from ts)": "CAST(EXTRACT(HOUR FROM ts) AS BIGINT)",
    "dayname(ts)": "DATE_FORMAT(ts, 'EEEE')",
    # numbers and types
    "n / 2": "CAST(n AS DOUBLE) / 2",
    "n / n": "IF(n = 0, CAST(n AS DOUBLE) * CAST('Infinity' AS DOUBLE), CAST(n AS DOUBLE) / n)",
    "x::int": "CAST(RINT(x) AS INT)",
    "d::bigint": "CAST(ROUND(d) AS BIGINT)",
    "try_cast(word as int)": "TAILRACE_TRY_INTEGER(word)",
    "try_cast(j ->> 'a' as date)": "TAILRACE_TRY_DATE(GET_JSON_OBJECT(j, '$.a'))",
    "try_cast(n as int)": "TRY_CAST(n AS INT)",
    "strptime(word, '%Y')": "CAST(TAILRACE_STRPTIME(word, '%Y') AS TIMESTAMP_NTZ)",
    "levenshtein(word, 'x')": "TAILRACE_LEVENSHTEIN(word, 'x')",
    "isinf(x)": "(ABS(x) = CAST('Infinity' AS DOUBLE))",
    "chr(233)": "CHR(233)",
    "n::hugeint": "CAST(n AS DECIMAL(38, 0))",
    "avg(d)": "AVG(CAST(d AS DOUBLE))",
    "log(x)": "LOG10(x)",
    "percentile_cont(0.9) within group (order by x)": "PERCENTILE(x, 0.9)",
    "quantile_cont(x, 0.5)": "PERCENTILE(x, 0.5)",
    "count(*) filter (where n > 1)": "COUNT(*) FILTER(WHERE n > 1)",
    "count()": "COUNT(*)",
    # texts
    "word like '%\\x%'": "word LIKE '%\\\\x%' ESCAPE '\\001'",
    "word ilike 'a%'": "word ILIKE 'a%'",
    "regexp_matches(word, '(a|b)')": "REGEXP_LIKE(word, '(a|b)')",
    "regexp_matches(word, 'a', 'i')": "REGEXP_LIKE(word, CONCAT('(?i)', 'a'))",
    "regexp_extract(word, 'a(b)')": "REGEXP_EXTRACT(word, 'a(b)', 0)",
    "regexp_extract(word, 'a(b)', 1)": "REGEXP_EXTRACT(word, 'a(b)', 1)",
    "regexp_replace(word, '(a)', '[\\1]', 'g')": "REGEXP_REPLACE(word, '(a)', '[$1]')",
    "regexp_replace(word, '(a)', '[\\1]')": "REGEXP_REPLACE(word, '^((?s:.*?))(?:(a))', '$1[$2]')",
    "string_split(word, '.')[1]": "TRY_ELEMENT_AT(SPLIT(word, '\\\\.'), 1)",
    "split_part(word, '/', 2)": "SPLIT_PART(word, '/', 2)",
    "concat(word, n)": "CONCAT(COALESCE(CAST(word AS STRING), ''), COALESCE(CAST(n AS STRING), ''))",
    "string_agg(distinct n, ', ' order by n)": (
        "LISTAGG(DISTINCT CAST(n AS STRING), ', ') WITHIN GROUP (ORDER BY CAST(n AS STRING) NULLS LAST)"
    ),
    # networks
    "try_cast(word as inet) <<= '10.0.0.0/8'::inet": (
        "TAILRACE_WITHIN(TRY_CAST(word AS STRING), CAST('10.0.0.0/8' AS STRING))"
    ),
}


@pytest.mark.parametrize("asked", EXPRESSIONS)
def test_expressions(asked: str) -> None:
    assert _spark(f"select {asked} as r from t") == f"SELECT {EXPRESSIONS[asked]} AS r"


STATEMENTS = {
    "select n from t order by n, word desc": "SELECT n AS n FROM v1 AS t ORDER BY n NULLS LAST, word DESC",
    "from t select n as k where k > 1": "SELECT n AS k FROM v1 AS t WHERE n > 1",
    "select unnest(words) as w, n from t": (
        "SELECT _u._c0 AS w, n AS n FROM v1 AS t CROSS JOIN LATERAL EXPLODE(words) AS _u(_c0)"
    ),
    "select unnest(words) as w, unnest(numbers) as k, upper(unnest(words)) as u from t": (
        "SELECT _u._c0 AS w, _u._c1 AS k, UPPER(_u._c0) AS u FROM v1 AS t "
        "CROSS JOIN LATERAL INLINE(ARRAYS_ZIP(words, numbers)) AS _u(_c0, _c1)"
    ),
    "select u, u.unnest as v from t, unnest(words) as u": (
        "SELECT u.u AS u, u.u AS v FROM v1 AS t, LATERAL EXPLODE(words) AS u(u)"
    ),
    "select i.generate_series as i from generate_series(1, 3) as i": (
        "SELECT i.i AS i FROM EXPLODE(SEQUENCE(1, 3)) AS i(i)"
    ),
    "select range(5, n, 2) as up, range(n, 5, -2) as down, generate_series(1, n) as g from t": (
        "SELECT IF((n - 1) < 5, ARRAY(), SEQUENCE(5, (n - 1), 2)) AS up, "
        "IF((5 - -1) > n, ARRAY(), SEQUENCE(n, (5 - -1), -2)) AS down, "
        "IF(n < 1, ARRAY(), SEQUENCE(1, n)) AS g FROM v1 AS t"
    ),
    "select range(5, 1) as none, range(2, 4) as two from t": (
        "SELECT IF((1 - 1) < 5, ARRAY(), SEQUENCE(5, (1 - 1))) AS none, SEQUENCE(2, (4 - 1)) AS two FROM v1 AS t"
    ),
    "select distinct on (n) n, word from t order by n, ts desc limit 2": (
        "SELECT n, word FROM (SELECT n AS n, word AS word, ROW_NUMBER() OVER (PARTITION BY (n) ORDER BY (n) "
        "NULLS LAST, ts DESC) AS _rank, (n) AS _by0, ts AS _by1 FROM v1 AS t) AS _inner WHERE _rank = 1 "
        "ORDER BY _by0 NULLS LAST, _by1 DESC LIMIT 2"
    ),
    "select n from t using sample 10 rows": (
        "SELECT n AS n FROM (SELECT *, RAND() AS _chance FROM v1 ORDER BY _chance LIMIT 10) AS t"
    ),
    "select n from t tablesample 10 percent (bernoulli, 7)": (
        "SELECT n AS n FROM (SELECT * FROM v1 WHERE RAND(7) < 10 / 100D) AS t"
    ),
    "with t as (select n from t) select n from t": ("WITH t AS (SELECT n AS n FROM v1 AS t) SELECT n AS n FROM t AS t"),
    "select n as k from t group by n having count(*) > 1 order by k, sum(x) desc": (
        "SELECT k FROM (SELECT n AS k, (n) AS _by0, SUM(x) AS _by1 FROM v1 AS t GROUP BY n HAVING COUNT(*) > 1) "
        "AS _inner ORDER BY _by0 NULLS LAST, _by1 DESC"
    ),
    "select n from t where (j -> 'a') and n = 1": (
        "SELECT n AS n FROM v1 AS t WHERE CAST(GET_JSON_OBJECT(j, '$.a') AS BOOLEAN) AND n = 1"
    ),
    "select n, count(*) as c, from t group by n, having c > 1": (
        "SELECT n AS n, COUNT(*) AS c FROM v1 AS t GROUP BY n HAVING COUNT(*) > 1"
    ),
}


@pytest.mark.parametrize("asked", STATEMENTS)
def test_statements(asked: str) -> None:
    text = translate(asked, lambda schema, name: "v1" if name == "t" else None, {"v1": TYPES})
    plain = re.sub(r"_u\d+", "_u", text.replace("`", "")).replace("t.", "")
    assert plain == STATEMENTS[asked]


REFUSED = {
    "select skewness(n) from t": "SKEWNESS",
    "select kurtosis(n) from t": "KURTOSIS",
    "select left(s, -1) from t": "left with a number",
    "select right(s, n) from t": "right with a number",
    "select substr(s, 0, 3) from t": "from character 0",
    "select format('{}', s) from t": "FORMAT",
    "select unicode(s) from t": "it has no",
    "select range(1, 9, n) from t": "no whole number",
    "select generate_series(1, 9, 0) from t": "no whole number",
    "select date_diff('week', ts, now()) from t": "in weeks",
    "select first(s order by n) from t": "it has no",
    "select arg_max(s, n, 2) from t": "of several",
    "select max(n, 2) from t": "of several",
    "select ts::time from t": "times without a day",
    "select [x for x in l] from t": "it has no",
    "select s glob 'a*' from t": "it has no",
    "select json_type(j, '$.a') from t": "with a path",
    "select age(ts, ts) from t": "it has no function age",
    "select n from elsewhere": "'elsewhere' is no table of the lake",
    "select n from read_csv('x.csv')": "no table of the lake",
    "select typeof(n) from t": "typeof tells types of DuckDB",
    "select words[1:2] from t": "parts of lists",
    "select strftime(ts, '%U') from t": "no '%U'",
    'select from_json(j, \'{"a": "INTEGER"}\') from t': "from_json",
    "select time_bucket(interval '1 hour', ts, ts) from t": "time_bucket with an origin",
    "select unnest(words), count(*) from t group by 1": "unnest beside group by",
    "select n from t, t as u using sample 5 rows": "a sample of several tables",
    "summarize t": "no plain select",
    "select date_trunc('decade', ts) from t": "with 'decade'",
    "select words::varchar from t": "lists and structs as texts",
    "select concat('x', words) from t": "lists and structs as texts",
    "select list_transform(words, lambda x, i: i) from t": "a second parameter",
    "select 'a' = any(words) from t": "any of a list",
    "select s from t order by s collate nocase": "COLLATE",
    "select columns('s') from t": "COLUMNS",
    "select t.n from t asof join t u on t.ts >= u.ts": "no asof join",
    "select t.n from t positional join t u": "no positional join",
    "select n from t union by name select s from t": "no union by name",
    "from (pivot t on n using count(*))": "no pivot",
    "from t pivot (count(*) for s in ('a', 'b'))": "no pivot",
    "select strptime(word, '%z') from t": "'%z' in patterns of times",
    "select word::blob from t": "casts to bytes",
    "select chr(769) from t": "chr of a number",
    "select chr(n) from t": "chr of a number",
    "select current_schema() from t": "CURRENT_SCHEMA",
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_may_differ_is_refused(asked: str) -> None:
    with pytest.raises(QueryError) as refusal:
        _spark(asked)
    assert REFUSED[asked] in refusal.value.message
    assert refusal.value.code == "query.not-on-spark"
    assert "DuckDB" in (refusal.value.hint or "")
