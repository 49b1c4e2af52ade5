"""Every log of Zeek's has a table, whose columns its header tells."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from logfiles import write
from world import World

from tailrace.core.registry import find_table, has_table

HEADER = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tdns\n"
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tquery\trcode\tAA\trtt\tanswers\n"
    "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tcount\tbool\tinterval\tvector[string]\n"
)
LINE = "1720173600.5\tC1\t10.0.0.7\t5353\t10.0.0.1\t53\tudp\texample.com\t0\tT\t0.25\t192.0.2.1,192.0.2.2\n"


def test_a_log_is_typed_by_its_header(world: World, tmp_path: Path) -> None:
    write(tmp_path / "dns.log", HEADER + LINE)
    assert world.collect_one("zeek_dns", str(tmp_path / "*.log")).clean
    later = {"ts": 1720173601.5, "uid": "C2", "id.orig_h": "10.0.0.8", "query": "example.org", "rcode": 3, "AA": False}
    write(tmp_path / "dns2.log", json.dumps(later) + "\n")
    assert world.collect_one("zeek_dns", str(tmp_path / "*.log")).clean
    columns = 'tp_timestamp, tp_source_ip, tp_domains, rcode, "AA", rtt, answers ->> 1, tp_extra'
    assert world.query(f"select {columns} from zeek_dns order by 1") == [
        (datetime(2024, 7, 5, 10, 0, 0, 500_000), "10.0.0.7", ["example.com"], 0, True, 0.25, "192.0.2.2", None),
        (datetime(2024, 7, 5, 10, 0, 1, 500_000), "10.0.0.8", ["example.org"], 3, False, None, None, None),
    ]
    assert world.query('select typeof(rcode), typeof(rtt), typeof("AA") from zeek_dns limit 1') == [
        ("BIGINT", "DOUBLE", "BOOLEAN")
    ]


def test_names() -> None:
    made = find_table("zeek_x509")
    assert made is not None
    assert (made.name, made.doc) == ("zeek_x509", "Entries of Zeek's x509.log.")
    conn = find_table("zeek_conn")
    assert conn is not None
    assert not conn.map_fields
    assert has_table("zeek_http")
    assert not has_table("zeek_")
    assert find_table("zeek_") is None
    assert find_table("Zeek_http") is None
    assert find_table("zeek_No") is None
