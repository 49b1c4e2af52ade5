"""The queries of the window document, without its remarks about an engine."""

from __future__ import annotations

PASS_THROUGH = """\
SELECT *
FROM log_attributes
WHERE timestamp_unix_nano >= {window_start_ns}
  AND timestamp_unix_nano < {window_end_ns}
ORDER BY _part_id, parent_id, key;
"""
FILTERED = """\
SELECT la.*
FROM log_attributes la
JOIN logs l ON l.id = la.parent_id AND l._part_id = la._part_id
WHERE la.timestamp_unix_nano >= {window_start_ns}
  AND la.timestamp_unix_nano < {window_end_ns}
  AND l.severity_number >= 17  -- Error and above
  AND l.trace_id IS NOT NULL
ORDER BY la._part_id, la.parent_id, la.key;
"""
SAMPLED = """\
WITH service_weights AS (
    SELECT
        l.id,
        l._part_id,
        ra.str as service_name,
        COALESCE(CAST(la.str AS DOUBLE), 1.0) as input_weight
    FROM logs l
    JOIN resource_attributes ra ON ra.parent_id = l.id
                                 AND ra._part_id = l._part_id
                                 AND ra.key = 'service.name'
    LEFT JOIN log_attributes la ON la.parent_id = l.id
                                 AND la._part_id = l._part_id
                                 AND la.key = 'sampling.weight'
    WHERE l.timestamp_unix_nano >= {window_start_ns}
      AND l.timestamp_unix_nano < {window_end_ns}
),
sampling_decisions AS (
    -- Apply weighted reservoir sampling UDAF
    SELECT
        service_name,
        _part_id,
        weighted_reservoir_sample(
            STRUCT(id, input_weight),
            100
        ) AS sample_decisions
    FROM service_weights
    GROUP BY service_name, _part_id
),
selected_ids AS (
    -- Explode sampling results
    SELECT
        sd._part_id,
        sd.service_name,
        decision.value.id as sampled_id,
        decision.value.adjusted_weight as adjusted_weight
    FROM sampling_decisions sd
    CROSS JOIN UNNEST(sd.sample_decisions) AS t(decision)
)
-- Return log_attributes for sampled records plus adjusted weight attributes
SELECT
    la._part_id,
    la.parent_id,
    la.key,
    la.str,
    si.adjusted_weight
FROM log_attributes la
JOIN selected_ids si ON si._part_id = la._part_id AND si.sampled_id = la.parent_id

UNION ALL

-- Add the adjusted weight attributes
SELECT
    si._part_id,
    si.sampled_id as parent_id,
    'sampling.adjusted_count' as key,
    CAST(si.adjusted_weight AS VARCHAR) as str,
    si.adjusted_weight
FROM selected_ids si
ORDER BY _part_id, parent_id, key;
"""
COUNTED = """\
SELECT
    _part_id,
    COUNT(*) as attribute_count,
    COUNT(DISTINCT parent_id) as unique_logs,
    COUNT(DISTINCT key) as unique_keys
FROM log_attributes
WHERE timestamp_unix_nano >= {window_start_ns}
  AND timestamp_unix_nano < {window_end_ns}
  AND key = 'service.name'
GROUP BY _part_id
ORDER BY _part_id;
"""
PLACEHOLDERS = """\
    SELECT la.*
    FROM log_attributes la
    JOIN logs l ON l.id = la.parent_id AND l._part_id = la._part_id
    WHERE la.timestamp_unix_nano >= ? AND la.timestamp_unix_nano < ?
"""
ONE_TABLE = """\
WITH sampled_data AS (
    SELECT
        id,
        _part_id,
        _table_type,
        str as weight_str,
        weighted_reservoir_sample(
            STRUCT(id, COALESCE(CAST(str AS DOUBLE), 1.0)),
            100
        ) OVER (PARTITION BY _part_id, _table_type) as sample
    FROM otap_temporal  -- Single table!
    WHERE _table_type = 'log_attributes'
      AND key = 'sampling.weight'
      AND timestamp_unix_nano >= {window_start}
      AND timestamp_unix_nano < {window_end}
)
SELECT
    la._part_id,
    la.parent_id,
    la.key,
    la.str,
    -- Add adjusted weights from sampling
    COALESCE(sample_weights.adjusted_weight, 1.0) as adjusted_weight
FROM otap_temporal la
CROSS JOIN UNNEST(sampled_data.sample) AS t(sample_item)
WHERE la._table_type IN ('log_attributes', 'logs', 'resource_attributes')
  AND la.parent_id = sample_item.value.id;
"""
# Of the exporter's own branch: its default query, what its demo adds to it, and its plan.
DEFAULT = """SELECT la.* FROM log_attrs la JOIN logs l ON l.id = la.parent_id AND la._part_id = l._part_id
WHERE l.time_unix_nano >= to_timestamp_nanos({window_start_ns})
AND l.time_unix_nano < to_timestamp_nanos({window_end_ns}) ORDER BY la._part_id, la.parent_id, la.key LIMIT 65536"""
DEMO = """SELECT la._part_id, la.parent_id, la.key, la.str FROM log_attrs la
JOIN logs l ON l.id = la.parent_id AND la._part_id = l._part_id
WHERE l.time_unix_nano >= to_timestamp_nanos({window_start_ns})
AND l.time_unix_nano < to_timestamp_nanos({window_end_ns})
UNION ALL
SELECT l._part_id, l.id AS parent_id, 'sampling.adjusted_count' AS key, '1.0' AS str FROM logs l
WHERE l.time_unix_nano >= to_timestamp_nanos({window_start_ns})
AND l.time_unix_nano < to_timestamp_nanos({window_end_ns})
ORDER BY _part_id, parent_id, key"""
CORRELATED = """SELECT la._part_id, la.parent_id, la.key, la.str FROM log_attributes la
WHERE la.timestamp_unix_nano >= {window_start_ns} AND la.timestamp_unix_nano < {window_end_ns}
AND EXISTS (SELECT 1 FROM resource_attributes ra WHERE ra.parent_id = la.parent_id
    AND ra._part_id = la._part_id AND ra.key = 'service.name' AND ra.str = 'shop')
ORDER BY _part_id, parent_id, key"""
