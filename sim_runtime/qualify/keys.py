"""Ed25519 keys: reading them from files, making them, and the form in which hosts publish them.

The signatures are the ``cryptography`` library's; it takes a tenth of a second to import, so that happens here and only
when something is signed or verified.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sim_runtime.qualify.names import KEY_ALGORITHM, KEY_ID, KEY_USE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MAX_KEY_FILE: Final = 16 * 1024
_HEX: Final = re.compile(rb"[0-9a-fA-F]{64}")
_BASE64URL: Final = re.compile(rb"[A-Za-z0-9_-]{43}")


class KeyProblem(ValueError):
    """A key file cannot be used; the message says why and what to do."""


def to_base64url(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64url(text: object, size: int) -> bytes | None:
    """The bytes of exactly ``size`` that a text stands for; nothing for any other spelling of them."""
    if not isinstance(text, str) or not text.isascii() or "=" in text:
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    # Spare bits could spell one signature in several ways.
    return data if len(data) == size and to_base64url(data) == text else None


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key with the name under which its host publishes the public one."""

    private: Ed25519PrivateKey
    public: bytes

    def sign(self, data: bytes) -> str:
        """The signature of data, as bundles carry it."""
        return to_base64url(self.private.sign(data))

    def default_id(self) -> str:
        """A key id that names the key itself, for a host that publishes none for it."""
        return f"ed25519-{hashlib.sha256(self.public).hexdigest()[:16]}"

    def published(self, key_id: str) -> dict[str, str]:
        """The entry of ``signingKeys`` in a discovery document."""
        return {"keyId": key_id, "alg": KEY_ALGORITHM, "publicKey": to_base64url(self.public), "use": KEY_USE}


def key_from_seed(seed: bytes) -> SigningKey:
    """The key of a seed of 32 bytes."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(seed)
    return SigningKey(private, private.public_key().public_bytes_raw())


def read_signing_key(path: Path) -> SigningKey:
    """A private key from a file: PEM (PKCS#8), or a seed of 32 bytes raw, in hexadecimal or in base64url.

    Raises ``KeyProblem``.
    """
    data = _read(path)
    stripped = data.strip()
    if stripped.startswith(b"-----BEGIN"):
        return _from_pem(stripped, path)
    if len(data) == KEY_BYTES:
        return key_from_seed(data)
    if _HEX.fullmatch(stripped):
        return key_from_seed(bytes.fromhex(stripped.decode("ascii")))
    seed = from_base64url(stripped.decode("ascii"), KEY_BYTES) if _BASE64URL.fullmatch(stripped) else None
    if seed is None:
        raise KeyProblem(f"`{path}` holds no Ed25519 private key: give PEM (PKCS#8) or a seed of 32 bytes.")
    return key_from_seed(seed)


def _from_pem(data: bytes, path: Path) -> SigningKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(data, password=None)
    except TypeError:
        raise KeyProblem(f"`{path}` is encrypted: give a key without a passphrase.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise KeyProblem(f"`{path}` is not a PEM private key that can be read.") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyProblem(f"`{path}` holds a key of another kind: bundles are signed with Ed25519.")
    return SigningKey(private, private.public_key().public_bytes_raw())


def read_public_key(path: Path) -> bytes:
    """A public key from a file: PEM, or 32 bytes raw, in hexadecimal or in base64url. Raises ``KeyProblem``."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _read(path)
    stripped = data.strip()
    if stripped.startswith(b"-----BEGIN"):
        try:
            public = load_pem_public_key(stripped)
        except (ValueError, UnsupportedAlgorithm):
            raise KeyProblem(f"`{path}` is not a PEM public key that can be read.") from None
        if isinstance(public, Ed25519PublicKey):
            return public.public_bytes_raw()
    if len(data) == KEY_BYTES:
        return data
    if _HEX.fullmatch(stripped):
        return bytes.fromhex(stripped.decode("ascii"))
    found = from_base64url(stripped.decode("ascii"), KEY_BYTES) if _BASE64URL.fullmatch(stripped) else None
    if found is None:
        raise KeyProblem(f"`{path}` holds no Ed25519 public key: give PEM or 32 bytes in base64url.")
    return found


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_KEY_FILE + 1)
    except OSError as error:
        raise KeyProblem(f"cannot read `{path}`: {error.strerror or error}") from None
    if len(data) > MAX_KEY_FILE:
        raise KeyProblem(f"`{path}` is not a key file: it is larger than {MAX_KEY_FILE} bytes.")
    return data


def write_new_key(path: Path) -> SigningKey:
    """Make a key and write it as PEM, readable for its owner only; an existing file is left alone.

    Raises ``KeyProblem``.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
    except FileExistsError:
        raise KeyProblem(f"`{path}` exists already and is left as it is: name another file.") from None
    except OSError as error:
        raise KeyProblem(f"cannot write `{path}`: {error.strerror or error}") from None
    return SigningKey(private, private.public_key().public_bytes_raw())


def signature_holds(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether a signature of 64 bytes is that of the data under a public key of 32."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def check_published(entry: object) -> dict[str, Any]:
    """An entry of ``signingKeys`` that a host is to publish. Raises ``KeyProblem``."""
    if not isinstance(entry, dict):
        raise KeyProblem("an entry of `signingKeys` is an object.")
    key_id = entry.get("keyId")
    if not isinstance(key_id, str) or KEY_ID.fullmatch(key_id) is None:
        raise KeyProblem("`keyId` of a signing key has 1 to 128 characters out of letters, digits and `._~-`.")
    if entry.get("alg") != KEY_ALGORITHM or from_base64url(entry.get("publicKey"), KEY_BYTES) is None:
        raise KeyProblem(f"the signing key `{key_id}` is not a public Ed25519 key in base64url.")
    return entry


def find_key(document: Mapping[str, Any], key_id: str) -> Mapping[str, Any] | None:
    """The key of that id that a discovery document publishes for bundles."""
    listed = document.get("signingKeys")
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict) or entry.get("keyId") != key_id:
            continue
        if entry.get("alg", KEY_ALGORITHM) == KEY_ALGORITHM and entry.get("use", KEY_USE) == KEY_USE:
            return entry
    return None


def id_of_key(document: Mapping[str, Any], public: bytes) -> str | None:
    """The key id under which a discovery document publishes a public key."""
    listed = document.get("signingKeys")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("publicKey") == to_base64url(public):
            key_id = entry.get("keyId")
            return key_id if isinstance(key_id, str) and find_key(document, key_id) is entry else None
    return None
