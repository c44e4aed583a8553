/// What we say to a relay as its client (NIP-01, NIP-42).
package enum ClientCommand: Hashable, Sendable {
    case publish(Event)
    case request(SubscriptionID, [Filter])
    case close(SubscriptionID)
    case authenticate(Event)

    /// The text of the WebSocket message.
    package var json: [UInt8] {
        var text = JSONText(spelling: .escaped)
        switch self {
        case .publish(let event):
            text.append("[\"EVENT\",")
            text.bytes.append(contentsOf: event.json)
        case .request(let subscription, let filters):
            text.append("[\"REQ\",")
            text.appendQuoted(subscription.name)
            for filter in filters {
                text.append(",")
                filter.append(to: &text)
            }
        case .close(let subscription):
            text.append("[\"CLOSE\",")
            text.appendQuoted(subscription.name)
        case .authenticate(let event):
            text.append("[\"AUTH\",")
            text.bytes.append(contentsOf: event.json)
        }
        text.append("]")
        return text.bytes
    }
}
