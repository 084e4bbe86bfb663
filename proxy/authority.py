"""An episode's own certificate authority, whose key is never written to any file."""

from __future__ import annotations

import datetime
import secrets

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from mitmproxy.certs import Cert, CertStoreEntry

_DAY = datetime.timedelta(days=1)


class Authority:
    """Signs a certificate for each name that an episode may reach.

    Args:
        certificate: PEM of an authority that was made before, or ``""`` for a new one.
        key: Its key.
    """

    def __init__(self, certificate: str = "", key: str = "") -> None:
        if certificate:
            self._certificate = x509.load_pem_x509_certificate(certificate.encode())
            self._key = serialization.load_pem_private_key(key.encode(), None)
        else:
            self._key = ec.generate_private_key(ec.SECP256R1())
            self._certificate = _signed(self._key, self._key.public_key(), None, "")
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._entries: dict[str, CertStoreEntry] = {}

    def certificate_pem(self) -> str:
        """The public certificate, which clients in the sandbox are told to trust."""
        return str(self._certificate.public_bytes(serialization.Encoding.PEM), "ascii")

    def key_pem(self) -> str:
        """The key, for the process that asked for the episode: it restarts a proxy that died."""
        form = serialization.PrivateFormat.PKCS8
        encryption = serialization.NoEncryption()
        pem = self._key.private_bytes(serialization.Encoding.PEM, form, encryption)
        return str(pem, "ascii")

    def entry(self, name: str) -> CertStoreEntry:
        """The certificate of a normalised name that the policy allows, made on first use."""
        if name not in self._entries:
            public = self._leaf_key.public_key()
            leaf = Cert(_signed(self._key, public, self._certificate, name))
            self._entries[name] = CertStoreEntry(leaf, self._leaf_key, None, [leaf])
        return self._entries[name]


def _signed(
    key: ec.EllipticCurvePrivateKey,
    public: ec.EllipticCurvePublicKey,
    issuer: x509.Certificate | None,
    name: str,
) -> x509.Certificate:
    """A certificate that strict clients accept: an authority's own, or one for a name."""
    common = name if issuer and len(name) <= 64 else f"CodeGym episode {secrets.token_hex(4)}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + 30 * _DAY)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(_usage(authority=issuer is None), critical=True)
    )
    if issuer is not None:
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
        builder = (
            builder.add_extension(signer, critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        )
    return builder.sign(key, hashes.SHA256())


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )
