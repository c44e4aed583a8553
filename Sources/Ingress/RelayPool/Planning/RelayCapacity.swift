import Units

/// How much we may have open at a relay, from what it says (NIP-11), what it refused and what we consider enough.
struct RelayCapacity: Hashable, Sendable {
    /// The limits that refusals imply.
    private struct Lesson: Hashable, Sendable {
        var subscriptions = Int.max
        var bytes = Int.max

        mutating func add(subscriptions: Int, bytes: Int) {
            self.subscriptions = min(self.subscriptions, subscriptions)
            self.bytes = min(self.bytes, bytes)
        }
    }

    /// The minimum to work with: our own subscription, a live one and one to read with; chunks of some fifty keys.
    private static let least = (subscriptions: 3, bytes: 32_768)

    private var said = 20
    private let enough: Int
    /// What the relay said in words, which holds as long as this process lives.
    private var stated = Lesson()
    /// What its refusals suggest, until ``forgetAt``: they may have had another reason.
    private var guessed = Lesson()
    /// When guesses are given up.
    private(set) var forgetAt: Timestamp?

    /// `enough` is the most that we want of a relay, in bytes.
    init(enough: Int) {
        self.enough = enough
    }

    /// Subscriptions.
    var subscriptions: Int { max(Self.least.subscriptions, min(said, stated.subscriptions, guessed.subscriptions)) }

    /// Bytes of all REQs whose subscriptions are open.
    var bytes: Int { max(Self.least.bytes, min(enough, stated.bytes, guessed.bytes)) }

    /// The part of ``bytes`` that long-lived subscriptions leave free, for reading stored events and for replacing
    /// subscriptions.
    var spareBytes: Int { bytes / 4 }

    /// Takes what the relay's information document says.
    mutating func says(subscriptions: Int) { said = subscriptions }

    /// Learns from a refusal about the number of subscriptions; so many were open.
    mutating func learn(subscriptions: Int) { stated.add(subscriptions: subscriptions, bytes: .max) }

    /// Learns from a refusal about the size of all subscriptions; so many bytes were open.
    mutating func learn(bytes: Int) { stated.add(subscriptions: .max, bytes: bytes) }

    /// Learns from a refusal that seems to be about one or the other.
    mutating func guess(subscriptions: Int, bytes: Int, until moment: Timestamp) {
        guessed.add(subscriptions: subscriptions, bytes: bytes)
        forgetAt = moment
    }

    /// Gives guesses up when it is time. Returns whether there is more room now.
    mutating func forget(now: Timestamp) -> Bool {
        guard let forgetAt, now >= forgetAt else { return false }
        let before = self
        guessed = Lesson()
        self.forgetAt = nil
        return subscriptions > before.subscriptions || bytes > before.bytes
    }
}
