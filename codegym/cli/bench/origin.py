"""A TLS origin on loopback, with an authority of its own: what a proxy is measured in front of.

Payload: run as ``python -I origin.py NAME…`` in the egress proxy's interpreter. It writes one JSON
line (``port``, ``authority`` as PEM) and serves until its input ends: ``/N`` is a body of N bytes.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
import sys
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_PIECE = b"x" * (1 << 16)


def _certificate(
    names: list[str],
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    """A day's certificate; an authority's where it is signed by itself."""
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(_named(names[0]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=key is signer, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([*map(x509.DNSName, names)]), critical=False)
    )
    return made.sign(signer, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _context(names: list[str]) -> tuple[ssl.SSLContext, str]:
    """A server's context, and the PEM of the authority that it is verified by."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = _certificate(["bench"], _named("bench"), authority, authority)
    leaf = _certificate(names, root.subject, key, authority)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        form = serialization.PrivateFormat.PKCS8
        plain = serialization.NoEncryption()
        file.write(key.private_bytes(serialization.Encoding.PEM, form, plain))
        file.write(leaf.public_bytes(serialization.Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name)
    return context, root.public_bytes(serialization.Encoding.PEM).decode()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests on one connection until it ends."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = int(head.split()[1][1:])
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            while size > 0:
                writer.write(_PIECE[:size])
                size -= len(_PIECE)
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _main(names: list[str]) -> None:
    context, authority = _context(names)
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(json.dumps({"port": port, "authority": authority}) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
