import Nostr

/// What became of an event that was published at one relay.
package enum PublishResult: Sendable, Hashable {
    /// The relay has it.
    case accepted
    /// With the relay's words, which are not to be trusted or logged.
    case refused(message: String)
    /// The relay could not be connected to, or did not answer in time.
    case unanswered
}

extension PublishResult {
    /// What an OK says (NIP-01); some relays refuse an event because they have it.
    init(isAccepted: Bool, message: String?) {
        self =
            switch message {
            case nil: .unanswered
            case let message? where isAccepted || MachineReadablePrefix(of: message) == .duplicate: .accepted
            case let message?: .refused(message: message)
            }
    }
}
