import Nostr

/// What has to be known of an account to decide where its events are looked for. All lists are bounded, free of
/// repetitions, and as their authors wrote them: URLs are texts that nobody has checked.
package struct WatchedAccount: Hashable, Sendable {
    package var key: PublicKey
    /// When the oldest of its devices was first registered, in seconds since 1970.
    package var registeredAt: Int64
    /// The relays that its registrations name; none: wherever its own lists say.
    package var relays: [String]
    /// Where it reads (NIP-65): what others address to it is published there.
    package var readRelays: [String]
    /// Where it receives messages (NIP-17).
    package var messageRelays: [String]
    /// The keys it receives gift wraps under besides its own; a former one goes on counting for seven days.
    package var messageKeys: [PublicKey]
    /// Whose hints wake all of its devices or some.
    package var partners: Set<PublicKey>
    /// Whether every one of its devices lists partners, so that hints can stand in for looking.
    package var isPartnered: Bool
}
