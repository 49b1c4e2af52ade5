"""Delimited text before it is read: what a proper record looks like, and delimiters that Arrow's reader can take."""

from __future__ import annotations

import re

from tailrace.core import Delimited

STAND_INS = [bytes([code]) for code in (0x1F, 0x1E, 0x1D, 0x1C, *range(0x01, 0x09), *range(0x0E, 0x1C))]


def grammar(fmt: Delimited) -> bytes:
    """A record as it should be: fields that are quoted as a whole, or hold neither quote nor line end."""
    parted = rb"[ \t]+" if fmt.delimiter == r"\s" else re.escape(fmt.delimiter.encode())
    plain = rb"(?:(?!%s)[^\n])*" % parted
    if fmt.quote:
        quote = re.escape(fmt.quote.encode())
        plain = rb"(?:(?!%s|%s)[^\n])*" % (parted, quote)
        within = rb"[^%s]|%s%s" % (quote, quote, quote)
        if fmt.escape and fmt.escape != fmt.quote:
            within = rb"(?!%s|%s).|%s." % (
                quote,
                re.escape(fmt.escape.encode()),
                re.escape(fmt.escape.encode()),
            )
        plain = rb"(?:%s(?:%s)*%s|%s)" % (quote, within, quote, plain)
    return rb"(?s)%s(?:%s%s)*\s*" % (plain, parted, plain)


def single(fmt: Delimited, buffers: list[bytes]) -> tuple[bytes, list[bytes]]:
    """A delimiter of one character, and the buffers written with it."""
    delimiter = fmt.delimiter.encode()
    if len(delimiter) == 1:
        return delimiter, buffers
    stand_in = free(b"".join(buffers))
    blanks = fmt.delimiter == r"\s"
    quote = re.escape(fmt.quote.encode())
    parted = rb"[ \t]+" if blanks else re.escape(delimiter)
    out = []
    for buffer in buffers:
        if blanks:
            buffer = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", buffer)
        if quote and fmt.quote.encode() in buffer:
            pattern = rb"(%s(?:[^%s]|%s%s)*%s)|%s" % (quote, quote, quote, quote, quote, parted)
            out.append(re.sub(pattern, lambda m: m[1] or stand_in, buffer))
        else:
            out.append(re.sub(parted, stand_in, buffer))
    return stand_in, out


def free(buffer: bytes) -> bytes:
    """A control character that the buffer does not hold."""
    return next((sign for sign in STAND_INS if sign not in buffer), STAND_INS[0])
