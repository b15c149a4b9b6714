"""A certificate authority for this machine, so that a client can trust the local endpoint.

It may only vouch for loopback addresses: its key lies on a disk, and whoever found it could
otherwise pose as any server to a client that trusts it.
"""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from filelock import FileLock, Timeout

from speakahead.assets.locate import cache_directory
from speakahead.errors import InvalidRequest

_CA_NAME = "ca.pem"
_KEY_NAME = "ca.key"
_SERVER_NAME = "server.pem"
_LIFETIME = timedelta(days=365)
_RENEW_BEFORE = timedelta(days=30)
_CLOCK_SKEW = timedelta(hours=1)
_LOCK_TIMEOUT_S = 30.0


class Certificates:
    """The authority's certificate and the server's, in one directory.

    Both are made when first asked for, under a lock, and used until 30 days before they expire:
    endpoints that share a directory, in one process or in many, share what a client has to trust.

    Args:
        directory: where they lie; by default ``emulator`` beside this user's models.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or cache_directory().parent / "emulator"

    @property
    def ca_path(self) -> Path:
        """PEM file of the authority: what ``SSL_CERT_FILE`` has to name."""
        self._ensure()
        return self._directory / _CA_NAME

    def server_context(self) -> ssl.SSLContext:
        """TLS for a server on a loopback address, with HTTP/2 and HTTP/1.1 on offer."""
        self._ensure()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._directory / _SERVER_NAME)
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context

    def _ensure(self) -> None:
        """Make what is missing or about to expire.

        Raises:
            InvalidRequest: the directory cannot be written.
        """
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with FileLock(self._directory / ".lock", timeout=_LOCK_TIMEOUT_S):
                if not self._usable():
                    self._make()
        except (OSError, Timeout):
            raise InvalidRequest(
                f"The local endpoint's certificates cannot be kept in {self._directory}."
            ) from None

    def _usable(self) -> bool:
        try:
            for name in (_CA_NAME, _SERVER_NAME):
                certificate = x509.load_pem_x509_certificate((self._directory / name).read_bytes())
                if certificate.not_valid_after_utc - _RENEW_BEFORE < datetime.now(UTC):
                    return False
            load_pem_private_key((self._directory / _KEY_NAME).read_bytes(), None)
        except (FileNotFoundError, ValueError):
            return False
        return True

    def _make(self) -> None:
        ca_key = ec.generate_private_key(ec.SECP256R1())
        authority = _authority(ca_key)
        key = ec.generate_private_key(ec.SECP256R1())
        server = _server(key, authority, ca_key)
        self._write(_KEY_NAME, _pem(ca_key))
        self._write(_SERVER_NAME, server.public_bytes(Encoding.PEM) + _pem(key))
        self._write(_CA_NAME, authority.public_bytes(Encoding.PEM))

    def _write(self, name: str, content: bytes) -> None:
        """Whole or not at all, and readable by this user only: most of it is secret."""
        partial = self._directory / f"{name}.partial"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        partial.replace(self._directory / name)


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("speakahead local endpoint CA")
    return (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(
            x509.NameConstraints(
                [
                    x509.DNSName("localhost"),
                    x509.IPAddress(IPv4Network("127.0.0.0/8")),
                    x509.IPAddress(IPv6Network("::1/128")),
                ],
                None,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey, authority: x509.Certificate, ca_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        _builder(_name("localhost"), authority.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    x509.DNSName("localhost"),
                    x509.IPAddress(IPv4Address("127.0.0.1")),
                    x509.IPAddress(IPv6Address("::1")),
                ]
            ),
            critical=False,
        )
        .add_extension(identifier, critical=False)
        .sign(ca_key, hashes.SHA256())
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
