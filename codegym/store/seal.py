"""Sealing: authenticated encryption under a key that only the environment holds.

AES-256-GCM with a random 96-bit nonce for each text (NIST SP 800-38D; one key is good for 2**32
texts). What a text belongs to is authenticated with it, so that none can be put in another's place.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING

from codegym.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

#: The environment variable that holds the key.
KEY = "CODEGYM_PACK_KEY"
_KEY_BYTES = 32
_NONCE_BYTES = 12


class Seal:
    """Seals and opens under one key.

    Args:
        key: 32 bytes.

    Attributes:
        key_id: Tells keys apart, and tells nothing of them.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = _cipher(key)
        self.key_id = hashlib.sha256(b"codegym pack key\0" + key).hexdigest()[:16]

    def close(self, data: bytes, context: bytes = b"") -> bytes:
        """Seal: a nonce, then the ciphertext and its tag."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, context)

    def open(self, sealed: bytes, context: bytes = b"") -> bytes:
        """What was sealed in the same context.

        Raises:
            ValueError: It was changed, belongs elsewhere, or was sealed under another key.
        """
        from cryptography.exceptions import InvalidTag

        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, ciphertext, context)
        except (InvalidTag, ValueError):
            raise ValueError("it was changed, or it was sealed under another key") from None


def new_key() -> str:
    """A new key, as ``CODEGYM_PACK_KEY`` holds it."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def seal_from_environment() -> Seal:
    """The seal whose key is in ``CODEGYM_PACK_KEY``.

    Raises:
        UsageError: There is no key, or it is none.
        UnavailableError: The library is not installed.
    """
    text = os.environ.get(KEY, "")
    if not text:
        raise UsageError(f"{KEY} is not set: it holds the key of sealed packs (codegym pack key)")
    return _seal(text)


@lru_cache(maxsize=8)
def _seal(text: str) -> Seal:
    try:
        key = base64.b64decode(text, altchars=b"-_", validate=True)
    except ValueError:  # what is no base64, or no ASCII
        key = b""
    if len(key) != _KEY_BYTES:
        raise UsageError(f"{KEY} holds no key: `codegym pack key` makes one")
    return Seal(key)


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise UnavailableError(
            "sealed packs need the library cryptography", "Run: pip install 'codegym[sealed]'"
        ) from None
    return AESGCM(key)
