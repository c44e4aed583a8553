import Registry
import RelayPool

/// Which relays an account chose.
struct RelayChoice: Hashable, Sendable {
    var source: RelaySource
    /// At most so many.
    var limit: Int

    /// The texts that say where an account is to be watched, in the order in which they count: what nobody can read, and what
    /// exceeds the limit, is for the caller to leave out.
    func texts(of account: WatchedAccount) -> [String] {
        switch source {
        case .none: []
        case .registration: account.relays
        case .nip65:
            // By turns, so that a long list of the one sort leaves room for the other.
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

    /// The relays behind `texts`, each once, without those in `always`.
    func relays(_ texts: [String], without always: Set<RelayURL>, read: (String) -> RelayURL?) -> [RelayURL] {
        var chosen: [RelayURL] = []
        for text in texts where chosen.count < limit {
            guard let relay = read(text), !always.contains(relay), !chosen.contains(relay) else { continue }
            chosen.append(relay)
        }
        return chosen
    }
}
