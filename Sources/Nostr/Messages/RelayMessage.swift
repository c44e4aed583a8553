/// What we say to a client as its relay (NIP-01, NIP-42).
package enum RelayMessage: Hashable, Sendable {
    /// An event as JSON, well-formed by the word of the caller.
    case event(SubscriptionID, json: [UInt8])
    case ok(EventID, isAccepted: Bool, message: String)
    case endOfStoredEvents(SubscriptionID)
    case closed(SubscriptionID, message: String)
    case notice(String)
    case authenticate(challenge: String)

    /// The text of the WebSocket message.
    package var json: [UInt8] {
        var text = JSONText(spelling: .escaped)
        switch self {
        case .event(let subscription, let event):
            text.append("[\"EVENT\",")
            text.appendQuoted(subscription.name)
            text.append(",")
            text.bytes.append(contentsOf: event)
        case .ok(let id, let isAccepted, let message):
            text.append("[\"OK\",")
            text.appendQuoted(id.bytes)
            text.append(isAccepted ? ",true," : ",false,")
            text.appendQuoted(message)
        case .endOfStoredEvents(let subscription):
            text.append("[\"EOSE\",")
            text.appendQuoted(subscription.name)
        case .closed(let subscription, let message):
            text.append("[\"CLOSED\",")
            text.appendQuoted(subscription.name)
            text.append(",")
            text.appendQuoted(message)
        case .notice(let message):
            text.append("[\"NOTICE\",")
            text.appendQuoted(message)
        case .authenticate(let challenge):
            text.append("[\"AUTH\",")
            text.appendQuoted(challenge)
        }
        text.append("]")
        return text.bytes
    }
}
