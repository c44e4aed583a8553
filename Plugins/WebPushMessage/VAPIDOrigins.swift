import Core
package import PluginKit

/// The token in use for each push service's origin and each of our keys, and whether it ever accepted a message.
///
/// Push services refuse tokens that are valid for more than a day, and Apple refuses tokens that change more than once
/// an hour. So a token is valid for twelve hours and replaced after eleven. Users choose the origins, so the number of
/// entries is limited; those of the big services are never evicted.
struct VAPIDOrigins: Sendable {
    private struct Key: Hashable {
        let origin: String
        let token: Int
    }

    private struct Entry {
        var authorization: String
        var issuedAt: Timestamp
        var usedAt: Timestamp
        var isProven = false
    }

    static let lifetime: Duration = .hours(12)
    static let longestUse: Duration = .hours(11)
    /// The minimum use of a token, even if it is refused.
    static let shortestUse: Duration = .hours(1)
    static let capacity = 512

    private let tokens: [VAPIDToken]
    private var entries: [Key: Entry] = [:]
    private var isProvenSomewhere: [Bool]

    init(_ tokens: [VAPIDToken]) {
        self.tokens = tokens
        isProvenSomewhere = Array(repeating: false, count: tokens.count)
    }

    /// Returns the value of `Authorization` at `now`, signed with a key. Throws only if signing fails.
    mutating func authorization(for origin: String, token: Int = 0, now: Timestamp) throws -> String {
        let key = Key(origin: origin, token: token)
        // If the clock was set back, a token would be valid for too long.
        if let known = entries[key], (.zero - Self.longestUse..<Self.longestUse).contains(now - known.issuedAt) {
            entries[key]?.usedAt = now
            return known.authorization
        }
        return try issue(key, now: now)
    }

    /// Replaces a refused token if it is in use and old enough. Returns whether to try again.
    mutating func renew(_ origin: String, token: Int, refused authorization: String, now: Timestamp) throws -> Bool {
        let key = Key(origin: origin, token: token)
        guard let known = entries[key] else { return false }
        // Another message's response replaced it already.
        guard known.authorization == authorization else { return true }
        let age = max(now - known.issuedAt, known.issuedAt - now)
        guard age >= Self.shortestUse else { return false }
        _ = try issue(key, now: now)
        return true
    }

    /// Records that the origin accepted a message.
    mutating func prove(_ origin: String, token: Int = 0) {
        entries[Key(origin: origin, token: token)]?.isProven = true
        isProvenSomewhere[token] = true
    }

    /// Whether the origin accepted a message, so that apps subscribed with the key.
    func isProven(_ origin: String, token: Int = 0) -> Bool {
        entries[Key(origin: origin, token: token)]?.isProven ?? false
    }

    /// Whether any origin accepted a message signed with the key.
    func isProven(token: Int) -> Bool { isProvenSomewhere[token] }

    private mutating func issue(_ key: Key, now: Timestamp) throws -> String {
        let authorization = try tokens[key.token].authorization(for: key.origin, expiry: now + Self.lifetime)
        let known = entries[key]
        if known == nil {
            makeSpace()
        }
        entries[key] = Entry(
            authorization: authorization,
            issuedAt: now,
            usedAt: now,
            isProven: known?.isProven ?? false
        )
        return authorization
    }

    private mutating func makeSpace() {
        guard entries.count >= Self.capacity else { return }
        let candidates = entries.lazy.filter { !PushService.isBusy($0.key.origin) }
        if let idlest = candidates.min(by: { $0.value.usedAt < $1.value.usedAt }) {
            entries[idlest.key] = nil
        }
    }
}

/// Former keys that subscriptions turned out to use, for registrations that do not name their key.
struct FormerKeys: Sendable {
    static let capacity = 8192

    /// The keys by endpoint hash. After a collision the wrong key is tried first, which is harmless.
    private var tokens: [Int: Int] = [:]

    /// Returns the index of the key; nil for the current key.
    func token(for url: String) -> Int? {
        tokens[url.hashValue]
    }

    mutating func note(_ token: Int, for url: String) {
        let hash = url.hashValue
        guard token != 0 else {
            tokens[hash] = nil
            return
        }
        if tokens.count >= Self.capacity, tokens[hash] == nil {
            // They are learned again one by one.
            tokens.removeAll(keepingCapacity: true)
        }
        tokens[hash] = token
    }
}

/// The `sub` of a token: the operator's address for push services (RFC 8292 section 2.1).
package struct VAPIDSubject: Sendable, Hashable {
    /// `mailto:` with an address or an `https` URL.
    package let text: String
    private let domain: String

    /// Reserved names (RFC 6761, RFC 6762) without mail and web pages. Apple responds to tokens with them with 403.
    private static let unreachable: Set = ["localhost", "local", "localdomain", "invalid", "test"]

    /// Throws for other texts, and for an unreachable domain. `key` is the name of the setting.
    package init(_ text: String, under key: StaticString) throws(PluginError) {
        guard let domain = VAPIDSubject.domain(of: text) else {
            throw PluginError("\(key): expected \(VAPIDSubject.expectation)")
        }
        let labels = domain.split(separator: ".")
        guard domain.hasPrefix("[") || labels.count > 1, let last = labels.last,
            !VAPIDSubject.unreachable.contains(String(last))
        else {
            throw PluginError(
                "\(key): expected \(VAPIDSubject.expectation), at a public domain; \(domain) is not public, and "
                    + "Apple responds to tokens with such a subject with 403 (BadJwtToken)"
            )
        }
        self.text = text
        self.domain = domain
    }

    static let expectation =
        "the operator's contact for push services, such as mailto:ops@your-domain.org or https://your-domain.org"

    /// A warning about a subject that is valid but was probably copied from an example (RFC 2606).
    package var doubt: String? {
        let labels = domain.split(separator: ".")
        let isExample =
            labels.last == "example"
            || labels.count > 1 && labels[labels.count - 2] == "example"
                && ["com", "net", "org"].contains(labels[labels.count - 1])
        return isExample ? "\(domain) is an example domain, and Apple may respond with 403 (BadJwtToken)" : nil
    }

    /// Returns the domain in lower case, without port; nil if `text` is neither kind of URL.
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
