"""Statements signed with a private key (JWT, RS256), which token servers take in place of a password."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import msgspec

from tailrace.config.values import Secret
from tailrace.core import ConfigError
from tailrace.core.extras import install
from tailrace.sources.slices import Pairs

LIFETIME = 600


@dataclass(frozen=True, slots=True)
class Assertion:
    """Who asks, signed."""

    field: str
    "Under which name it is sent."
    key: Secret
    "PEM."
    claims: Pairs
    header: Pairs = ()

    def signed(self, now: float) -> str:
        begins = int(now)
        claims = {**dict(self.claims), "iat": begins, "exp": begins + LIFETIME, "jti": str(uuid4())}
        text = f"{_encoded({'alg': 'RS256', 'typ': 'JWT', **dict(self.header)})}.{_encoded(claims)}"
        return f"{text}.{_base64(_signature(self.key, text.encode()))}"


def certificate(pem: bytes, password: Secret | None, path: str) -> tuple[Secret, str]:
    """The private key in a file of Azure's kind (PEM or PKCS 12), and the thumbprint of the certificate beside it."""
    _require()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.serialization import pkcs12

    secret = password.reveal().encode() if password else None
    key: Any
    try:
        if b"-----BEGIN" in pem:
            key = serialization.load_pem_private_key(pem, secret)
            held = x509.load_pem_x509_certificate(pem)
        else:
            key, found, _ = pkcs12.load_key_and_certificates(pem, secret)
            if key is None or found is None:
                raise ValueError
            held = found
    except (ValueError, TypeError):
        raise _unreadable(path) from None
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    # Azure names certificates by SHA-1; nothing rests on its strength.
    return Secret(text.decode()), _base64(held.fingerprint(hashes.SHA1()))


def _signature(key: Secret, text: bytes) -> bytes:
    _require()
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    try:
        held = serialization.load_pem_private_key(key.reveal().encode(), None)
    except (ValueError, TypeError):
        raise _unreadable("the private key") from None
    if not isinstance(held, rsa.RSAPrivateKey):
        raise _unreadable("the private key")
    return held.sign(text, padding.PKCS1v15(), hashes.SHA256())


def _require() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise ConfigError(
            "signing with a private key needs the package cryptography",
            code="config.missing-package", hint=install("signing"),
        ) from None  # fmt: skip


def _unreadable(what: str) -> ConfigError:
    hint = "an RSA key in PEM without a password, or for Azure a PEM or PKCS 12 file of key and certificate"
    return ConfigError(f"{what} cannot be read as an RSA key", code="config.bad-argument", hint=hint)


def _encoded(value: object) -> str:
    return _base64(msgspec.json.encode(value))


def _base64(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
