import Cipher
import CommandTestSupport
import Foundation

/// Python's `cryptography`, where the machine has it: a judge of signatures that is not ours.
enum PythonCryptography {
    static let isThere = (try? run("import cryptography", [])) == ""

    private static let script = """
        import sys
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        key = serialization.load_pem_public_key(sys.argv[1].encode())
        raw = bytes.fromhex(sys.argv[3])
        der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        try:
            key.verify(der, sys.argv[2].encode(), ec.ECDSA(hashes.SHA256()))
            print("good", end="")
        except InvalidSignature:
            print("bad", end="")
        """

    static func verifyES256(publicKey: String, message: String, signature: [UInt8]) throws -> String {
        try run(script, [publicKey, message, Hex.encode(signature)])
    }

    private static func run(_ script: String, _ arguments: [String]) throws -> String {
        try CommandRun("python3", ["-c", script] + arguments).output
    }
}
