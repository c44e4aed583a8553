#!/usr/bin/env python3
"""Decrypts the envelope of a sealed notification (mode `sealed`), as an example for app developers.

    unseal.py --key SECRET_KEY_HEX < envelope.json              "alg": "nip44"
    unseal.py --p256 PRIVATE_KEY_HEX --auth AUTH_HEX < …        "alg": "aes128gcm"

Needs: pip install cryptography http_ece. In an app, the notification service extension does the same: see
"Sealed notifications" in contrib/docs/rules.md.
"""
import argparse, base64, hmac, json, sys

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand


def nip44(payload: str, secret: int, sender: str) -> bytes:
    data = base64.b64decode(payload)
    version, nonce, ciphertext, mac = data[0], data[1:33], data[33:-32], data[-32:]
    if version != 2:
        sys.exit("expected NIP-44 version 2")
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), bytes.fromhex("02" + sender))
    shared = ec.derive_private_key(secret, ec.SECP256K1()).exchange(ec.ECDH(), point)
    conversation = hmac.digest(b"nip44-v2", shared, "sha256")
    keys = HKDFExpand(SHA256(), length=76, info=nonce).derive(conversation)
    if not hmac.compare_digest(hmac.digest(keys[44:], nonce + ciphertext, "sha256"), mac):
        sys.exit("expected the MAC of this key: not sealed to it, or modified in transit")
    chacha = Cipher(algorithms.ChaCha20(keys[:32], bytes(4) + keys[32:44]), mode=None).decryptor()
    padded = chacha.update(ciphertext)
    return padded[2 : 2 + int.from_bytes(padded[:2], "big")]


options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name in ["--key", "--p256", "--auth"]:
    options.add_argument(name, type=bytes.fromhex)
given = options.parse_args()
envelope = json.load(sys.stdin)
if envelope["alg"] == "nip44":
    content = nip44(envelope["ct"], int.from_bytes(given.key, "big"), envelope["from"])
else:
    private = ec.derive_private_key(int.from_bytes(given.p256, "big"), ec.SECP256R1())
    content = http_ece.decrypt(base64.b64decode(envelope["ct"]), private_key=private, auth_secret=given.auth)
# Spaces after the object hide its length; JSON ignores them.
print(json.dumps(json.loads(content), indent=2, ensure_ascii=False))
