"""The receiving side of a Web Push subscription, with keys that only it has (RFC 8291 section 2)."""

import base64
import os

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class App:
    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)

    @property
    def secret(self) -> bytes:
        return self.key.private_numbers().private_value.to_bytes(32, "big")

    @property
    def keys(self) -> dict:
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {"p256dh": base64url(point), "auth": base64url(self.auth)}

    def decrypt(self, body: bytes) -> bytes:
        return http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth, version="aes128gcm")

    def decrypt_legacy(self, body: bytes, salt: bytes, sender: bytes) -> bytes:
        """draft-ietf-webpush-encryption-04, whose salt and sender's key travelled in headers."""
        return http_ece.decrypt(
            body, salt=salt, dh=sender, private_key=self.key, auth_secret=self.auth, version="aesgcm"
        )
