"""Keys in files: which forms are read, and what is said of the others."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from sim_runtime.qualify.keys import (
    KeyProblem,
    from_base64url,
    id_of_key,
    read_public_key,
    read_signing_key,
    signature_holds,
    to_base64url,
    write_new_key,
)
from tests.qualify.helpers import OTHER, TOY, document

SEED = bytes(range(1, 33))
PEM = TOY.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
PUBLIC_PEM = TOY.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_known_signature() -> None:
    """RFC 8032, section 7.1, test 1."""
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    signature = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
        "655141438e7a100b"
    )
    assert signature_holds(public, signature, b"")
    assert not signature_holds(public, signature, b"x")
    assert not signature_holds(bytes(31), signature, b"")


@pytest.mark.parametrize("data", [PEM, SEED, SEED.hex().encode(), f"{to_base64url(SEED)}\n".encode()])
def test_forms_of_a_private_key(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    assert read_signing_key(path).public == TOY.public


@pytest.mark.parametrize("data", [PUBLIC_PEM, TOY.public, TOY.public.hex().encode(), to_base64url(TOY.public).encode()])
def test_forms_of_a_public_key(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    assert read_public_key(path) == TOY.public


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no Ed25519 private key"),
        (b"x" * 31, "no Ed25519 private key"),
        (b"x" * 20_000, "larger"),
        (b"-----BEGIN PRIVATE KEY-----\nxx\n-----END PRIVATE KEY-----", "not a PEM private key"),
        (PUBLIC_PEM, "not a PEM private key"),
        (
            ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "another kind",
        ),
        (
            TOY.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")),
            "without a passphrase",
        ),
    ],
)
def test_what_is_no_signing_key(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    with pytest.raises(KeyProblem, match=told):
        read_signing_key(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyProblem, match="cannot read"):
        read_signing_key(tmp_path / "none")
    (tmp_path / "key").write_bytes(PEM)
    with pytest.raises(KeyProblem, match="not a PEM public key"):
        read_public_key(tmp_path / "key")


def test_a_new_key_is_its_owners_and_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    made = write_new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_signing_key(path).public == made.public
    before = path.read_bytes()
    with pytest.raises(KeyProblem, match="exists already"):
        write_new_key(path)
    assert path.read_bytes() == before
    with pytest.raises(KeyProblem, match="cannot write"):
        write_new_key(tmp_path / "none" / "key.pem")


@pytest.mark.parametrize(
    "text", ["", "AA", "A" * 43 + "=", "A" * 42 + "B", "A" * 42 + "+", "A" * 44, None, 7, "é" * 43]
)
def test_bytes_have_one_spelling(text: object) -> None:
    assert from_base64url(text, 32) is None


def test_the_id_of_a_published_key() -> None:
    assert id_of_key(document(), TOY.public) == "demo-1"
    assert id_of_key(document(), OTHER.public) is None
    assert id_of_key({"signingKeys": [7, {"publicKey": to_base64url(TOY.public)}]}, TOY.public) is None
