import Nostr
import Registry

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
