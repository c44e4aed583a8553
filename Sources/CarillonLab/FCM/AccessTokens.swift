import Cipher
import Foundation

/// The valid access tokens and whose they are.
struct AccessTokens<Account: Sendable>: Sendable {
    private struct Granted: Sendable {
        var account: Account
        /// Milliseconds since 1970.
        var expiresAt: Int64
    }

    /// More than a test needs, and few enough for a lab that runs for weeks.
    private static var limit: Int { 10_000 }

    private var granted: [String: Granted] = [:]

    /// Makes a new token. `lifetime` is in milliseconds.
    mutating func grant(to account: Account, lifetime: Int64, now: Int64, random: RandomBytes) -> String {
        granted = granted.filter { $0.value.expiresAt > now }
        if granted.count >= Self.limit {
            granted.removeAll()
        }
        let token = "ya29.c.lab-" + Base64URL.encode(random(96))
        granted[token] = Granted(account: account, expiresAt: now + lifetime)
        return token
    }

    /// Whose a token is; nil if it is unknown or expired.
    func account(of token: String, now: Int64) -> Account? {
        guard let found = granted[token], found.expiresAt > now else { return nil }
        return found.account
    }

    mutating func revokeAll() {
        granted.removeAll()
    }
}

/// A JSON Web Token (RFC 7519) in its compact form, parsed but not verified.
struct JSONWebToken<Header: Decodable, Claims: Decodable> {
    let header: Header
    let claims: Claims
    /// The bytes that are signed.
    let signed: [UInt8]
    let signature: [UInt8]

    /// Nil if the text is not a token, or lacks a member of `Header` or `Claims`.
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
