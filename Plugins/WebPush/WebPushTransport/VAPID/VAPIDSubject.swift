import PluginKit

/// The `sub` of a token: where push services find whoever sends (RFC 8292 section 2.1).
enum VAPIDSubject {
    /// Whether it is `mailto:` with an address or an `https` URL; Apple refuses tokens with anything else.
    static func isValid(_ text: String) -> Bool {
        if text.hasPrefix("https://") {
            return HTTPURL(text) != nil
        }
        guard text.hasPrefix("mailto:") else { return false }
        let parts = text.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isAddressByte) }
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: ","): false
        default: (0x21...0x7E).contains(byte)
        }
    }
}
