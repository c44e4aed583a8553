import Nostr

extension EventAnswer {
    /// OK, or a NOTICE when there is no id to say OK about.
    var relayMessage: RelayMessage {
        guard let id else { return .notice(message) }
        return .ok(id, isAccepted: accepted, message: message)
    }
}
