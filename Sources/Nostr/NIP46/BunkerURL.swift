private import Cipher

/// The token with which a client finds a remote signer (NIP-46, "Direct connection initiated by remote-signer").
///
/// It holds a secret: never for a log.
package struct BunkerURL: Sendable, Concealed {
    package var signer: PublicKey
    /// Relays at which the signer listens.
    package var relays: [String]
    /// What the first `connect` must bear; single use.
    package var secret: String?

    package init(signer: PublicKey, relays: [String], secret: String? = nil) {
        self.signer = signer
        self.relays = relays
        self.secret = secret
    }

    /// The whole URL, secret included.
    package func reveal() -> String {
        let items = relays.map { ("relay", $0) } + (secret.map { [("secret", $0)] } ?? [])
        let query = items.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&")
        return "bunker://\(signer.hex)" + (query.isEmpty ? "" : "?\(query)")
    }

    /// Percent-encodes all but what RFC 3986 calls unreserved, which no reader of a query takes for anything else.
    private static func escaped(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
