import Cipher
import Foundation

/// A JSON Web Token (RFC 7519) in its compact form, read but not believed.
struct JSONWebToken<Header: Decodable, Claims: Decodable> {
    let header: Header
    let claims: Claims
    /// What the signature is over.
    let signed: [UInt8]
    let signature: [UInt8]

    /// Nil where it is none, or lacks what `Header` and `Claims` have.
    init?(reading text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header: Header = Self.decode(String(parts[0])), let claims: Claims = Self.decode(String(parts[1])),
            let signature = Base64URL.decode(String(parts[2]))
        else { return nil }
        self.header = header
        self.claims = claims
        signed = Array("\(parts[0]).\(parts[1])".utf8)
        self.signature = signature
    }

    private static func decode<Value: Decodable>(_ part: String) -> Value? {
        Base64URL.decode(part).flatMap { try? JSONDecoder().decode(Value.self, from: Data($0)) }
    }
}
