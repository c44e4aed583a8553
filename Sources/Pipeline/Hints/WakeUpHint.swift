import Nostr
import Notifications

/// A partner's word that something waits for an account (seed 004 section 7, kind 20062).
struct WakeUpHint {
    /// A hint is for one account (seed 004). Who names some more is borne with; each takes a look at the disk before anything
    /// proves the sender.
    static let accountLimit = 8

    /// What waits; a wake-up without a word carries what most hints are about.
    let signal: Signal
    /// For whom the signer says to speak: `root_identity`, else themselves.
    let partner: PublicKey
    /// Seconds since 1970, as its author claims.
    let createdAt: Int64

    /// Nil when a tag cannot be read.
    init?(_ event: Event) {
        guard let type = event.value(of: "t"), !type.isEmpty else { return nil }
        signal = Signal(rawValue: type)
        createdAt = event.createdAt
        guard let root = event.value(of: "root_identity") else {
            partner = event.pubkey
            return
        }
        guard let root = PublicKey(hex: root) else { return nil }
        partner = root
    }
}
