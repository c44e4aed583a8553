import Nostr
import Registry

/// What is to be watched on behalf of an account, or of a root of interest.
///
/// An account's own key and its keys for messages are watched at its own relays and at the operator's. The lists of
/// roots of interest are watched at the operator's relays, and the lists of an account's partners at the account's
/// relays.
struct WatchTarget: Hashable, Sendable {
    var owner: PublicKey
    /// What is watched of the owner's own key.
    var interest: WatchInterest
    /// Further keys under which it receives messages.
    var messageKeys: [PublicKey] = []
    /// Partners, whose lists say which of their devices may send hints.
    var partners: [PublicKey] = []
    /// The relays of its own choice, without the operator's.
    var relays: [RelayNumber] = []
    /// Where it was not watched yet, only events from this moment on count, in seconds since 1970.
    var begin: Int64
    /// When a partner last sent a hint for it, in seconds since 1970.
    var lastHint: Int64?
    /// Whether its partners stand in for direct subscriptions.
    var isLeftToPartners = false

    /// What is to be watched where, each pair of key and relay once.
    func places(always: [RelayNumber]) -> [WatchPlace] {
        var places: [WatchPlace] = []
        let everywhere = always + relays
        places.reserveCapacity(everywhere.count * (1 + messageKeys.count))
        let waiting: WatchInterest = isLeftToPartners ? .leftToPartners : .addressed
        let own = interest.contains(.addressed) ? interest.subtracting(.addressed).union(waiting) : interest
        for relay in everywhere { places.append(WatchPlace(key: owner, relay: relay, interest: own)) }
        for key in messageKeys {
            for relay in everywhere { places.append(WatchPlace(key: key, relay: relay, interest: waiting)) }
        }
        for partner in partners {
            // At the operator's relays, partners are watched as roots of interest anyway.
            for relay in relays { places.append(WatchPlace(key: partner, relay: relay, interest: .authored)) }
        }
        return messageKeys.isEmpty && partners.isEmpty ? places : Self.merged(places)
    }

    private static func merged(_ places: [WatchPlace]) -> [WatchPlace] {
        var merged: [WatchPlace] = []
        var position: [WatchPlace: Int] = [:]
        for var place in places {
            let interest = place.interest
            place.interest = []
            if let known = position[place] {
                merged[known].interest.formUnion(interest)
            } else {
                position[place] = merged.count
                place.interest = interest
                merged.append(place)
            }
        }
        return merged
    }
}

/// One key at one relay.
struct WatchPlace: Hashable, Sendable {
    var key: PublicKey
    var relay: RelayNumber
    var interest: WatchInterest

    init(key: PublicKey, relay: RelayNumber, interest: WatchInterest) {
        self.key = key
        self.relay = relay
        self.interest = interest
    }

    init(_ row: WatchRow) {
        self.init(key: row.key, relay: row.relay, interest: WatchInterest(rawValue: row.interest))
    }
}
