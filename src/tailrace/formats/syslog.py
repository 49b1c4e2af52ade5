"""Syslog: RFC 5424 and RFC 3164 as they are sent, and as the usual templates write them to files."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Regex, Table
from tailrace.formats.base import Stream, moment_of
from tailrace.formats.grok import expressions_of
from tailrace.formats.regex_engine import RegexDecoder
from tailrace.formats.years import MONTH, with_years

_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_OLD = rf"(?:{MONTH}) [ \d]?\d (?:\d{{4}} )?\d\d:\d\d:\d\d(?:\.\d+)?(?: \d{{4}}\b)?"
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_PRIORITY = r"<(?<priority>1[0-8]\d|19[01]|\d{1,2})>"
_ELEMENT = r'\[[^\s="\]]+(?: [^\s="\]]+="(?:[^"\\\]]|\\.)*")*\]'
_HEADER = r"(?<hostname>\S+) (?<app_name>\S+) (?<proc_id>\S+) (?<msg_id>\S+)"
_TIME = rf"(?<timestamp>{_ISO}|{_OLD})"
_FRONT = rf"^(?:{_PRIORITY} ?)?[*.]?{_TIME}"
# No colon at its end: written so that an engine which does not look back can tell.
_HOST = r"(?<hostname>:*[^\s:]+(?::+[^\s:]+)*)"
_LEVELS = "EMERG|ALERT|CRIT|ERR|ERROR|WARNING|WARN|NOTICE|INFO|DEBUG"
_REST = r"(?: \((?<sub_process>[^()]*)\))?(?: <(?<level>\w+)>)?: {0,2}(?<message>.*)$"
# Digits alone are the sequence number of a network device.
_TAG = rf"(?<app_name>\d*[^\s:\[\]\d][^\s:\[\]]*)(?:\[(?<proc_id>[^\]\s]*)\])?{_REST}"
_SPACED_TAG = rf"(?<app_name>[^\s:\[\]]+(?: [^\s:\[\]]+)+)\[(?<proc_id>\d+)\]{_REST}"

_FACILITIES = "kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|ntp|security|console|local[0-7]"
_WORDS = "emerg|panic|alert|crit|err|error|warning|warn|notice|info|debug"
_NUMBER = r"(?:(?<sequence>\d+))?: "
_DATED = rf"(?<timestamp>{_ISO}|(?:\d{{4}} )?{_OLD})"
_DEVICE_TIME = rf"(?<device_time>{_OLD}|{_ISO})(?: (?<zone>[A-Z]{{2,5}}))?"
_ZONE = r"(?: (?<zone>[A-Za-z]{2,6}(?:[+-]\d{1,2}(?::?\d\d)?)?))?"
_DEVICE = rf"^{_PRIORITY}(?:{_NUMBER})?(?:{_HOST}:? )?(?:\d+: )?[*.]?{_DATED}{_ZONE}: "
_MNEMONIC = r"(?<app_name>%[A-Z][\w-]*-\d-\w+) ?: (?<message>.*)$"

_PAIR = " time="

RFC5424 = (
    rf"^(?:(?:\d+ )?{_PRIORITY})?(?<version>[1-9]\d{{0,2}}) (?<timestamp>{_ISO}|-) {_HEADER}"
    rf" (?<structured_data>-|(?:{_ELEMENT})+)(?: {{1,2}}(?<message>.*))?$"
)
FORMS = (
    rf"^(?:{_PRIORITY})?(?<timestamp>{_ISO}) {_HEADER} (?<structured_data>(?:{_ELEMENT})+)(?: {{1,2}}(?<message>.*))?$",
    rf"{_FRONT} (?<level>{_LEVELS}) {_TAG}",
    rf"{_FRONT}:? {_HOST} {_TAG}",
    # Small systems write the facility and the severity as words: Alpine with the host, OpenWrt with the weekday.
    rf"^(?:{_PRIORITY} ?)?(?:{_DAY} )?{_TIME}(?: {_HOST})? (?<facility_name>{_FACILITIES})\.(?<level>{_WORDS}) {_TAG}",
    rf"{_FRONT} {_HOST} {_SPACED_TAG}",
    rf"{_FRONT}:? (?<app_name>[^\s:\[\]]+)\[(?<proc_id>[^\]\s]*)\]{_REST}",
    rf"{_FRONT}:?  {_TAG}",
    rf"{_FRONT}  {_HOST} {_TAG}",
    rf"{_FRONT}:? (?<message>--- .*)$",
    # Network devices: a number, their name, their own time; after what a relay has put before.
    rf"{_FRONT}(?: (?<zone>[A-Z]{{2,5}}))?:? {_MNEMONIC}",
    rf"^(?:{_PRIORITY})?{_NUMBER}(?:{_HOST}: )?[*.]?{_DATED}(?: (?<zone>[A-Z]{{2,5}}))?: {_MNEMONIC}",
    rf"{_FRONT}:? {_HOST} (?:{_NUMBER})?(?:\S+: )?[*.]?{_DEVICE_TIME}: {_MNEMONIC}",
    rf"{_FRONT}:? {_HOST} : {_MNEMONIC}",
    rf"^(?:{_PRIORITY} ?)?{_DATED} {_HOST} {_MNEMONIC}",
    rf"{_DEVICE}{_MNEMONIC}",
    rf"^{_PRIORITY}(?:{_NUMBER})?(?:{_HOST} )?(?<node>\w+/\S+?):{_DATED}{_ZONE}: {_TAG}",
    rf"{_FRONT}:? {{1,2}}{_HOST}:? (?<message>.*)$",
    rf"{_FRONT} : (?<message>.*)$",
    rf"{_DEVICE}(?<message>.*)$",
    # The head of one RFC and the tag of the other.
    rf"^(?:\d+ )?{_PRIORITY}(?<version>[1-9]\d{{0,2}}) (?<timestamp>{_ISO}) {_HOST} {_TAG}",
    # What stands where structured data should, and is none, belongs to the message: some senders never write any.
    rf"^(?:\d+ )?{_PRIORITY}(?<version>[1-9]\d{{0,2}}) (?<timestamp>{_ISO}|-) {_HEADER}(?: (?<message>.*))?$",
    # Firewalls tell the time in the message alone.
    rf"^{_PRIORITY}(?<message>[^\n]*?\bdate=(?<timestamp>\d{{4}}-\d\d-\d\d{_PAIR}\d\d:\d\d:\d\d)\b.*)$",
)
START = (
    rf"^(?:<|\d{{4}}-\d\d-\d\d[T ]|\d{{1,3}} \d{{4}}-|\d+ <\d"
    rf"|(?:\d*: |\d{{4}} )?[*.]?(?:{MONTH}) [ \d]?\d |{_DAY} {_OLD} (?:{_FACILITIES})\.)"
)
ANY_TIME = rf"(?P<time>{_ISO}|{_OLD})"
"A time anywhere in a text."
_BEGINS = re.compile(START.encode())
_PARAMETER = re.compile(r' ([^\s="\]]+)="((?:[^"\\\]]|\\.)*)"')
_ELEMENTS = re.compile(_ELEMENT)
_ESCAPED = re.compile(r'\\(["\\\]])')


def is_start(line: bytes) -> bool:
    """Does a message begin with this line?"""
    return _BEGINS.match(line) is not None


class SyslogDecoder(RegexDecoder):
    """Messages; lines that begin like none belong to the message before."""

    def __init__(self, table: Table) -> None:
        forms = [replace(form, kind="syslog") for form in expressions_of(Regex(RFC5424, also=FORMS))]
        super().__init__(table, forms, START)

    def prepared(self, fields: dict[str, pa.Array], stream: Stream) -> dict[str, pa.Array]:
        """Nothing where a dash stands, years where there are none, structured data as JSON."""
        if "msg_id" in fields:  # only RFC 5424 writes a dash for what is not known
            fields = {name: _dashless(texts) if name != "message" else texts for name, texts in fields.items()}
        if "structured_data" in fields:
            fields["structured_data"] = _by_value(fields["structured_data"])
        if fields.keys() == {"priority", "message", "timestamp"}:
            fields["timestamp"] = pc.replace_substring(fields["timestamp"], _PAIR, " ")
        fields["timestamp"] = with_years(fields["timestamp"], moment_of(stream))
        message = pc.replace_substring(fields["message"], "\ufeff", "", max_replacements=1)
        return fields | {"message": pc.utf8_rtrim(message, "\r\n")}


def _dashless(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, "-"), pa.scalar(None, pa.string()), texts)


def _by_value(texts: pa.Array) -> pa.Array:
    """Structured data as JSON, each distinct text once."""
    coded = texts.dictionary_encode()
    return pa.array([_json(text) for text in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


def _json(text: str) -> str:
    """`[id a="1"]` → `{"id":{"a":"1"}}`."""
    elements: dict[str, dict[str, str]] = {}
    for element in _ELEMENTS.findall(text):
        name = element[1:-1].partition(" ")[0]
        values = {key: _ESCAPED.sub(r"\1", value) for key, value in _PARAMETER.findall(element)}
        elements[name] = elements.get(name, {}) | values
    return msgspec.json.encode(elements).decode()
