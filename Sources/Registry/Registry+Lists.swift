import Nostr
import Notifications

extension Registry {
    /// Takes the newest list of relays (kind 10002, NIP-65) or of devices and message relays (kind 10050) of an account or of
    /// a root identity that an account has to do with. Its signature must have been verified.
    package func learn(_ event: Event) throws -> Learned {
        try learn([event]).first ?? .ignored
    }

    /// Takes lists in their order, in one transaction. Answers with as many results.
    package func learn(_ events: [Event]) throws -> [Learned] {
        events.map { _ in .ignored }
    }

    /// Whether ``learn(_:)`` would look at lists of `author`: it has an account here, is somebody's partner, or a device that
    /// waits claims to be its own.
    package func concerns(_ author: PublicKey) throws -> Bool {
        false
    }

    /// The keys besides those of accounts whose kind 10050 is wanted: partners, and roots that waiting registrations name.
    package func rootsOfInterest() throws -> Set<PublicKey> {
        []
    }

    /// Whether `key` may speak for `root`: it is the same, or a device in the newest kind 10050 of that root.
    package func speaks(_ key: PublicKey, for root: PublicKey) throws -> Bool {
        key == root
    }

    /// Whose wake-up hints (kind 20062) count for which devices of an account. Devices without partners are left out.
    package func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>] {
        [:]
    }

    /// Whether `event` is the account's own doing: by its key, by a key that it receives messages under, or by a device that its
    /// kind 10050 lists and the event's `root_identity` says so.
    package func isOwn(_ event: Event, of account: PublicKey, in index: borrowing MatchIndex) throws -> Bool {
        event.pubkey == account
    }
}
