import Cipher
import NIOSSL
import RouterConfiguration

/// The settings of a client: the servers, and its name, credentials and TLS.
struct NATSSettings: Sendable {
    var servers: [NATSServer]
    /// The client's name in the servers' lists.
    var name: String
    var credentials = NATSCredentials.none
    /// Nil: the system's roots, and no client certificate.
    var tls: TLSConfiguration?
    /// Whether to use servers that other servers name.
    var followsDiscoveredServers = true
    /// The minimum version of a server.
    var oldestVersion: (major: Int, minor: Int)?
}

/// The credentials of a client.
enum NATSCredentials: Sendable, Concealed {
    case none
    case password(user: String, String)
    case token(String)
    case key(NKey)
    /// The contents of a credentials file: a JWT of the account, and the key of its user.
    case user(jwt: String, NKey)

    /// Parses a credentials file, as `nsc` writes it. Returns nil if it holds no JWT, or no key.
    init?(file text: String) {
        guard let jwt = Self.block("NATS USER JWT", in: text), let seed = Self.block("USER NKEY SEED", in: text),
            let key = NKey(seed: seed)
        else { return nil }
        self = .user(jwt: jwt, key)
    }

    private static func block(_ name: String, in text: String) -> String? {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { !$0.isWhitespace } }
        let wanted = "BEGIN\(name.filter { !$0.isWhitespace })"
        guard let begin = lines.firstIndex(where: { $0.contains(wanted) }), begin + 1 < lines.count else { return nil }
        return lines[begin + 1]
    }

    func fill(_ connect: inout NATSCommand.Connect, nonce: String?) throws(NATSError) {
        switch self {
        case .none: break
        case .password(let user, let password): (connect.user, connect.pass) = (user, password)
        case .token(let token): connect.authToken = token
        case .key(let key):
            connect.nkey = key.publicKey
            connect.sig = try Self.signature(key, nonce)
        case .user(let jwt, let key):
            connect.jwt = jwt
            connect.sig = try Self.signature(key, nonce)
        }
    }

    private static func signature(_ key: NKey, _ nonce: String?) throws(NATSError) -> String {
        guard let nonce else { throw .protocolViolation("a greeting without a nonce to sign") }
        return Base64URL.encode(key.key.sign(Array(nonce.utf8)))
    }
}

/// A NATS key pair (nkeys): Ed25519, its seed in base 32 with a prefix and a checksum.
struct NKey: Sendable, Concealed {
    private static let seedPrefix: UInt8 = 18 << 3
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    fileprivate let key: Ed25519PrivateKey
    /// The public key in the form that servers use, such as `UDXU4…`.
    let publicKey: String

    /// Returns nil for an invalid seed.
    init?(seed: String) {
        guard let bytes = Self.decode(seed), bytes.count == 36 else { return nil }
        let (payload, sum) = (bytes.dropLast(2), bytes.suffix(2))
        // The first two bytes hold both prefixes: the seed prefix, and the prefix of the key's kind.
        let kind = (bytes[0] & 0x07) << 5 | bytes[1] >> 3
        guard bytes[0] & 0xF8 == Self.seedPrefix, Array(sum) == Self.checksum(payload),
            let key = try? Ed25519PrivateKey(seed: Array(payload.dropFirst(2)))
        else { return nil }
        self.key = key
        let named = [kind] + key.publicKey
        publicKey = Self.encode(named + Self.checksum(named))
    }

    /// CRC-16/XMODEM, low byte first.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var crc: UInt16 = 0
        for byte in bytes {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        return [UInt8(truncatingIfNeeded: crc), UInt8(crc >> 8)]
    }

    private static func decode(_ text: String) -> [UInt8]? {
        var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for letter in text.utf8 {
            guard let value = alphabet.firstIndex(of: letter) else { return nil }
            bits = bits << 5 | UInt32(value)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        // Only one spelling is valid: the leftover bits must be zero.
        return bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
    }

    private static func encode(_ bytes: [UInt8]) -> String {
        var (letters, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                letters.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
        }
        if count > 0 { letters.append(alphabet[Int(bits << UInt32(5 - count) & 31)]) }
        return String(decoding: letters, as: UTF8.self)
    }
}
