"""Listeners that could not do what they are told are refused before they are opened."""

from __future__ import annotations

from datetime import datetime

import pytest

from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core.errors import ConfigError
from tailrace.streams.settings import listeners

WRONG = {
    "half of TLS": ('tls_key = "k"', "belong together"),
    "the other half": ('tls_cert = "c"', "belong together"),
    "no network": ('trusted_proxies = ["10.0.0.0/33"]', "10.0.0.0/33"),
    "bits of a host": ('trusted_proxies = ["10.0.0.1/8"]', "host bits"),
    "no port": ("port = 70000", "70000"),
}


def configured(text: str) -> None:
    listeners(load_texts([Text("x.tpc", text.encode(), "/")], now=datetime(2024, 1, 1), environ={}))


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name: str) -> None:
    text, message = WRONG[name]
    with pytest.raises(ConfigError, match=message) as refused:
        configured(f'listener "http" "h" {{\n api_keys_file = "keys"\n {text}\n}}')
    assert str(refused.value.where).startswith("x.tpc:")


@pytest.mark.parametrize("number", ["0", "4294967296", "1.5"])
def test_a_tenant_is_a_number_that_files_can_have(number: str) -> None:
    with pytest.raises(ConfigError, match="workspace"):
        configured(f'listener "syslog" "s" {{ workspace_id = {number} }}')
