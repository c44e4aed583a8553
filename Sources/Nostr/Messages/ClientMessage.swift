import JSON

/// What a client sends to a relay (NIP-01, NIP-42).
package enum ClientMessage: Hashable, Sendable {
    /// Publishes an event; it lies at these offsets of the message and has not been looked at.
    case event(Range<Int>)
    /// `REQ`: wants what any of the filters matches, stored and to come.
    case request(SubscriptionID, [Filter])
    case close(SubscriptionID)
    /// Answers a challenge (NIP-42). The event has not been verified.
    case authenticate(Event)

    /// Reads the text of one WebSocket message.
    package init(_ text: UnsafeRawBufferPointer) throws(MessageError) {
        var reader = try JSONReader<MessageError>(text)
        let command = try reader.command()
        if reader.says(command, "EVENT") {
            self = .event(try reader.lastElement("an event"))
        } else if reader.says(command, "REQ") {
            self = try Self.request(&reader)
        } else if reader.says(command, "CLOSE") {
            self = .close(try reader.subscription())
            try reader.endMessage()
        } else if reader.says(command, "AUTH") {
            let place = try reader.lastElement("an event")
            do throws(EventError) {
                self = .authenticate(try Event(json: UnsafeRawBufferPointer(rebasing: text[place])))
            } catch {
                throw .invalidEvent(error)
            }
        } else {
            throw reader.unknown(command, expected: ["EVENT", "REQ", "CLOSE", "AUTH"])
        }
    }

    private static func request(_ reader: inout JSONReader<MessageError>) throws(MessageError) -> ClientMessage {
        let subscription = try reader.subscription()
        var filters: [Filter] = []
        repeat {
            try reader.nextElement("a filter")
            filters.append(try reader.filter())
            reader.skipWhitespace()
        } while reader.next == UInt8(ascii: ",")
        try reader.endMessage()
        return .request(subscription, filters)
    }
}

/// What we send to a relay as its client (NIP-01, NIP-42).
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
