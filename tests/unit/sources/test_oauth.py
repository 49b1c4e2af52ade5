"""Tokens: how they are asked for, kept, and asked for again."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from apiserver import Reply, Request, serving
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from tailrace.config.model import ConnectionSpec
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import ConfigError, SourceError, TimeRange
from tailrace.sources import azure_login, make_source
from tailrace.sources.gcp_login import login, project_of
from tailrace.sources.oauth import CommandLogin, Granted

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()


def connection(type: str, **args: object) -> ConnectionSpec:
    return ConnectionSpec(type, "c", args, Where("a.tpc", 1, 1))


def form(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(request.body.decode()).items()}


def verified(token: str) -> tuple[dict, dict]:
    """Header and claims of a signed statement."""
    head, claims, signature = token.split(".")
    decoded = [urlsafe_b64decode(part + "===") for part in (head, claims, signature)]
    KEY.public_key().verify(decoded[2], f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    return json.loads(decoded[0]), json.loads(decoded[1])


def grant(_: Request) -> Reply:
    return Reply({"access_token": "granted", "expires_in": 3600})


def test_service_accounts_of_google_sign(tmp_path: Path):
    with serving(grant) as api:
        text = json.dumps(
            {"type": "service_account", "project_id": "p", "client_email": "me@p", "private_key": PEM,
             "token_uri": f"{api.url}/token"}
        )  # fmt: skip
        file = tmp_path / "key.json"
        file.write_text(text)
        for given in (text, str(file)):
            auth = login("gcp_audit_log_api", connection("gcp", credentials=Secret(given)), "a scope")
            assert auth.headers() == {"Authorization": "Bearer granted"}
            assert PEM not in repr(auth)
        assert project_of("gcp_audit_log_api", connection("gcp", credentials=Secret(text))) == "p"
        (request,) = api.requests
        sent = form(request)
        assert sent["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        _, claims = verified(sent["assertion"])
    assert (claims["iss"], claims["scope"], claims["aud"]) == ("me@p", "a scope", f"{api.url}/token")
    assert claims["exp"] - claims["iat"] == 600


def test_users_of_google_refresh(monkeypatch, tmp_path):
    with serving(grant) as api:
        file = tmp_path / "adc.json"
        user = {"client_id": "i", "client_secret": "s", "refresh_token": "r", "token_uri": api.url}
        file.write_text(json.dumps({"type": "authorized_user", **user}))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        login("gcp_audit_log_api", None, "a scope").headers()
        assert form(api.requests[0])["refresh_token"] == "r"
    file.write_text('{"type": "external_account"}')
    with pytest.raises(ConfigError, match="cannot log in with credentials of type external_account"):
        login("gcp_audit_log_api", None, "a scope")
    file.write_text("nonsense")
    with pytest.raises(ConfigError, match="cannot be read"):
        login("gcp_audit_log_api", None, "a scope")


def test_clients_of_okta_sign_and_expired_tokens_are_renewed():
    tokens = iter(["old", "new"])

    def answer(request: Request) -> Reply:
        if request.path == "/oauth2/v1/token":
            _, claims = verified(form(request)["client_assertion"])
            assert claims["sub"] == "client"
            return Reply({"access_token": next(tokens), "expires_in": 3600})
        good = request.headers["authorization"] == "Bearer new"
        return Reply([{"uuid": "1"}]) if good else Reply({"errorSummary": "expired"}, 401)

    with serving(answer) as api:
        given = connection("okta", domain=api.url, client_id="client", private_key=Secret(PEM))
        source = make_source("okta_system_log_api", {}, given)
        source = replace(source, slicing=None)
        (artifact,) = source.discover(TimeRange())
        with source.open(artifact) as raw:
            assert raw.read() == b'{"uuid": "1"}\n'


def _certificate() -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "me")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(KEY.public_key())
    built = built.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return built.sign(KEY, hashes.SHA256())


@pytest.mark.parametrize("kind", ["pem", "pfx"])
def test_certificates_of_azure(tmp_path, kind):
    held = _certificate()
    file = tmp_path / f"me.{kind}"
    if kind == "pem":
        file.write_bytes(PEM.encode() + held.public_bytes(serialization.Encoding.PEM))
    else:
        locked = serialization.BestAvailableEncryption(b"pw")
        file.write_bytes(pkcs12.serialize_key_and_certificates(b"me", KEY, held, None, locked))
    password = {} if kind == "pem" else {"certificate_password": Secret("pw")}
    with serving(grant) as api:
        cloud = azure_login.Cloud("management.azure.com", api.url)
        given = connection("azure", tenant_id="t", client_id="c", certificate_path=str(file), **password)
        assert azure_login.login(given, cloud).headers() == {"Authorization": "Bearer granted"}
        header, claims = verified(form(api.requests[0])["client_assertion"])
    assert urlsafe_b64decode(header["x5t"] + "==") == held.fingerprint(hashes.SHA1())
    assert claims["aud"] == f"{api.url}/t/oauth2/v2.0/token"


def test_azure_users_and_what_is_missing():
    with serving(grant) as api:
        cloud = azure_login.Cloud("management.azure.com", api.url)
        user = {"username": "u", "password": Secret("p")}
        azure_login.login(connection("azure", tenant_id="t", client_id="c", **user), cloud).headers()
        assert form(api.requests[0])["grant_type"] == "password"
    with pytest.raises(ConfigError, match="`tenant_id` and `client_id`"):
        azure_login.login(connection("azure", **user), cloud)
    with pytest.raises(ConfigError, match="unknown environment 'MARS'"):
        azure_login.cloud_of(connection("azure", environment="mars"))


def test_logins_of_command_line_tools(tmp_path):
    tool = tmp_path / "az"
    tool.write_text('#!/bin/sh\necho "{\\"accessToken\\": \\"cli $1\\"}"\n')
    tool.chmod(0o755)
    assert Granted(CommandLogin((str(tool), "account"))).headers() == {"Authorization": "Bearer cli account"}
    with pytest.raises(SourceError, match="gives no token"):
        Granted(CommandLogin(("no-such-tool", "account"))).headers()


def test_a_refused_login_is_told_without_the_secret():
    with serving(lambda _: Reply({"error_description": "unknown client"}, 401)) as api:
        cloud = azure_login.Cloud("management.azure.com", api.url)
        given = connection("azure", tenant_id="t", client_id="c", client_secret=Secret("hidden"))
        with pytest.raises(SourceError, match="status 401: unknown client") as error:
            azure_login.login(given, cloud).headers()
    assert error.value.code == "source.denied"
    assert "hidden" not in str(error.value)
