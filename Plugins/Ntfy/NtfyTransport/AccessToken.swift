import PluginKit

/// The right to write to a topic that is protected: the registration's `access_token`.
enum AccessToken {
    private static let lengths = 1...256

    /// The value of `authorization`; nil for a topic that is open. Throws for what cannot stand in a header.
    static func authorization(_ registration: borrowing Registration) throws(PluginError) -> String? {
        guard let token = registration.field("access_token"), !token.isEmpty else { return nil }
        guard lengths.contains(token.count), token.bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw PluginError("access_token: expected ntfy's access token, such as tk_…, in printable ASCII")
        }
        return "Bearer " + token.string
    }
}
