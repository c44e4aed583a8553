package import PluginKit

/// The `sub` of a token: the operator's address for push services (RFC 8292 section 2.1).
package struct VAPIDSubject: Sendable, Hashable {
    /// `mailto:` with an address or an `https` URL.
    package let text: String
    private let domain: String

    /// Reserved names (RFC 6761, RFC 6762) that have no mail and no pages. Apple answers tokens with them 403.
    private static let unreachable: Set = ["localhost", "local", "localdomain", "invalid", "test"]

    /// Throws for anything else, and for a domain that nobody can reach. `key` is the name of the setting.
    package init(_ text: String, under key: StaticString) throws(PluginError) {
        guard let domain = VAPIDSubject.domain(of: text) else {
            throw PluginError("\(key): expected \(VAPIDSubject.expectation)")
        }
        let labels = domain.split(separator: ".")
        guard domain.hasPrefix("[") || labels.count > 1, let last = labels.last,
            !VAPIDSubject.unreachable.contains(String(last))
        else {
            throw PluginError(
                "\(key): expected \(VAPIDSubject.expectation), at a domain that others reach; at \(domain) nobody does, and "
                    + "Apple answers tokens with such a subject 403 (BadJwtToken)"
            )
        }
        self.text = text
        self.domain = domain
    }

    static let expectation =
        "where push services find you, such as mailto:ops@your-domain.org or https://your-domain.org"

    /// A warning about a subject that is valid but was probably copied from an example (RFC 2606).
    package var doubt: String? {
        let labels = domain.split(separator: ".")
        let isExample =
            labels.last == "example"
            || labels.count > 1 && labels[labels.count - 2] == "example"
                && ["com", "net", "org"].contains(labels[labels.count - 1])
        return isExample ? "\(domain) is nobody's domain, and Apple may answer 403 (BadJwtToken) because of it" : nil
    }

    /// In lower case, without port; nil if `text` is neither kind of URL.
    private static func domain(of text: String) -> String? {
        if text.hasPrefix("https://") {
            guard let url = HTTPURL(text) else { return nil }
            let authority = url.origin.dropFirst("https://".count).lowercased()
            guard !authority.hasPrefix("["), let colon = authority.firstIndex(of: ":") else { return authority }
            return String(authority[..<colon])
        }
        guard text.hasPrefix("mailto:") else { return nil }
        let parts = text.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isAddressByte) }) else {
            return nil
        }
        // Header fields may follow (RFC 6068).
        return parts[1].prefix { $0 != "?" }.lowercased()
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: ","): false
        default: byte.isVisibleASCII
        }
    }
}
