import Nostr

/// A watched key, and how far reading for it has come. Held a million times, therefore small.
struct RosterEntry: Sendable {
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8

        static let used = Flags(rawValue: 1)
        static let established = Flags(rawValue: 2)
        /// In a REQ that was sent in this conversation.
        static let asked = Flags(rawValue: 4)
        /// In a subscription whose stored events have ended.
        static let live = Flags(rawValue: 8)
    }

    var key: PublicKey
    /// Seconds since 1970.
    var since: UInt32
    /// Read from that moment on, in seconds, and not from where its chunk is read from; 0 if that is not so.
    var behindSince: UInt32 = 0
    /// The catch-up that reads what is stored for the key; 0 if none does.
    var sweep: UInt32 = 0
    var interest: Watched.Interest
    var flags: Flags

    init(_ watched: Watched) {
        key = watched.key
        since = UInt32(clamping: max(1, watched.since))
        interest = watched.interest
        flags = watched.isEstablished ? [.used, .established] : .used
    }

    var isEstablished: Bool { flags.contains(.established) }
    var isLive: Bool { flags.contains(.live) }
}
