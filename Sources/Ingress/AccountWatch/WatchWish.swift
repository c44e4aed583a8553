import Nostr
import Registry

/// What is to be watched on behalf of an account, or of a root of interest.
struct WatchWish: Hashable, Sendable {
    var owner: PublicKey
    /// What of the owner's own key.
    var interest: WatchInterest
    /// What it receives messages under besides its own key.
    var messageKeys: [PublicKey] = []
    /// Whose lists tell which of its partners' devices may send hints.
    var partners: [PublicKey] = []
    /// The relays of its own choice, without the operator's.
    var relays: [RelayNumber] = []
    /// From when on what names it concerns it where it was not watched yet, in seconds since 1970.
    var begin: Int64
    /// When it was last heard of through a partner, in seconds since 1970.
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
            // At the operator's relays roots of interest are watched on their own behalf.
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
