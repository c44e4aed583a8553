import Cipher
import PluginKit

/// The right to write to a topic that is protected: the registration's `access_token`, or its `username` and `password`.
enum Credentials {
    private static let limit = 256

    /// The value of `authorization`; nil for a topic that is open. Throws for what cannot stand in a header, and for a name
    /// without a password.
    static func authorization(_ registration: borrowing Registration) throws(PluginError) -> String? {
        let token = try text("access_token", registration, "ntfy's access token, such as tk_…, in printable ASCII") {
            (0x21...0x7E).contains($0)
        }
        let isPrintable = { (byte: UInt8) in byte >= 0x20 && byte != 0x7F }
        // A colon ends the name (RFC 7617 section 2).
        let name = try text("username", registration, "the name of an account, without a colon") {
            isPrintable($0) && $0 != UInt8(ascii: ":")
        }
        let password = try text("password", registration, "the account's password", where: isPrintable)
        switch (token, name, password) {
        case (nil, nil, nil): return nil
        case (let token?, nil, nil): return "Bearer " + token
        case (nil, let name?, let password?): return "Basic " + Base64.encode([UInt8]("\(name):\(password)".utf8))
        case (nil, _?, nil): throw PluginError("password: expected it beside username, found nothing")
        case (nil, nil, _?): throw PluginError("username: expected it beside password, found nothing")
        case (_?, _, _): throw PluginError("access_token: expected either it or username and password, found both")
        }
    }

    private static func text(
        _ name: StaticString,
        _ registration: borrowing Registration,
        _ expected: String,
        where fits: (UInt8) -> Bool
    ) throws(PluginError) -> String? {
        guard let field = registration.field(name), !field.isEmpty else { return nil }
        guard field.count <= limit, field.bytes.allSatisfy(fits) else {
            throw PluginError("\(name): expected \(expected), at most \(limit) bytes")
        }
        return field.string
    }
}
