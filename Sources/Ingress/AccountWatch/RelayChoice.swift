import Registry
import RelayPool

/// Which source names a user's own relays.
package enum RelaySource: String, Sendable, Hashable, CaseIterable {
    /// The registration's, or else the read relays of the relay list (NIP-65); and the relays for private messages
    /// (NIP-17).
    case nip65
    /// Only the registration's.
    case registration
    /// Nobody's: users are watched at the operator's relays only.
    case none
}

/// Which relays accounts chose.
struct RelayChoice: Sendable {
    private let source: RelaySource
    /// Relays of one account at most.
    private let limit: Int
    private var reader = RelayReader()
    /// Chosen in vain.
    var blocked = BlockedRelays()

    init(source: RelaySource, limit: Int) {
        self.source = source
        self.limit = limit
    }

    /// The relays that an account chose, each once, without those in `always`.
    mutating func relays(of account: WatchedAccount, without always: Set<RelayURL>) -> [RelayURL] {
        var chosen: [RelayURL] = []
        for text in texts(of: account) where chosen.count < limit {
            guard let relay = reader.read(text), !always.contains(relay), !chosen.contains(relay),
                !blocked.contains(relay)
            else { continue }
            chosen.append(relay)
        }
        return chosen
    }

    /// The texts that say where an account is to be watched, the most important first. Not every text is a URL.
    private func texts(of account: WatchedAccount) -> [String] {
        switch source {
        case .none: []
        case .registration: account.relays
        case .nip65:
            // Alternating, so that a long list of one sort leaves room for the other.
            Self.alternating(account.messageRelays, account.relays.isEmpty ? account.readRelays : account.relays)
        }
    }

    private static func alternating(_ one: [String], _ other: [String]) -> [String] {
        guard !one.isEmpty else { return other }
        var texts: [String] = []
        texts.reserveCapacity(one.count + other.count)
        for index in 0..<max(one.count, other.count) {
            if index < one.count { texts.append(one[index]) }
            if index < other.count { texts.append(other[index]) }
        }
        return texts
    }
}

/// Reads relays' URLs, and remembers what it read: many users name the same few.
private struct RelayReader: Sendable {
    private static let limit = 65_536

    private var known: [String: RelayURL?] = [:]

    mutating func read(_ text: String) -> RelayURL? {
        if let relay = known[text] { return relay }
        let relay = RelayURL(text)
        if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
        known[text] = .some(relay)
        return relay
    }
}
