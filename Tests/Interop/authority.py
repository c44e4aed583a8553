"""A certificate authority by `cryptography`, for servers of the tests' own and for clients that show a certificate."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

USER_ID = NameOID.USER_ID
APNS_TOPICS = ObjectIdentifier("1.2.840.113635.100.6.3.6")
"""Apple's extension that lists what a certificate may push to."""


class Authority:
    def __init__(self, folder: Path):
        folder.mkdir()
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the tests' authority")])
        self.certificate = (
            self._builder(self.name, self.key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        self.file = self._write("authority.pem", self.certificate.public_bytes(Encoding.PEM))

    def server(self, name: str = "localhost") -> Path:
        """A file with certificate and key of a server on this machine: the same each time, as somebody may be reading it."""
        path = self.folder / f"{name}.pem"
        if path.exists():
            return path
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(subject, key.public_key())
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return self._write(path.name, self._pem(key) + certificate.public_bytes(Encoding.PEM))

    def push_certificate(self, topic: str, days: int = 365) -> tuple[Path, Path]:
        """An app's certificate as Apple hands it out, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(USER_ID, topic),
                x509.NameAttribute(NameOID.COMMON_NAME, f"Apple Push Services: {topic}"),
            ]
        )
        certificate = (
            self._builder(subject, key.public_key(), days)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return (
            self._write("push.pem", certificate.public_bytes(Encoding.PEM)),
            self._write("push-key.pem", self._pem(key)),
        )

    def _builder(self, subject: x509.Name, key, days: int = 2) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=days))
        )

    @staticmethod
    def _pem(key) -> bytes:
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def _write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return path
