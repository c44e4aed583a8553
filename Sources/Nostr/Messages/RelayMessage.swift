import JSON

/// A message from the router's relay socket to a client (NIP-01, NIP-42).
package enum RelayMessage: Hashable, Sendable {
    /// An event as JSON. The caller guarantees that it is well-formed.
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

extension RelayMessage {
    /// Returns the response to a client's unreadable message. It names the subscription of a `REQ`, or the event of an
    /// `EVENT` or `AUTH`, if that can be read.
    package static func refusal(of text: UnsafeRawBufferPointer, _ error: MessageError) -> RelayMessage {
        let message = MachineReadablePrefix.invalid.message(error)
        guard var reader = try? JSONReader<MessageError>(text), let command = try? reader.command() else {
            return .notice(message)
        }
        if reader.says(command, "REQ"), let subscription = try? reader.subscription() {
            return .closed(subscription, message: message)
        }
        if reader.says(command, "EVENT") || reader.says(command, "AUTH"),
            (try? reader.nextElement("an event")) != nil,
            let id = EventScanner.id(in: UnsafeRawBufferPointer(rebasing: text[reader.position...]))
        {
            return .ok(id, isAccepted: false, message: message)
        }
        return .notice(message)
    }
}

/// A message from a relay to the router (NIP-01, NIP-42).
package enum ReceivedRelayMessage: Hashable, Sendable {
    /// An event, given by its offsets in the message. The event is not parsed.
    ///
    /// Reading this does not allocate if the subscription's name fits a small string: 15 bytes.
    case event(SubscriptionID, Range<Int>)
    case ok(EventID, isAccepted: Bool, message: String)
    case endOfStoredEvents(SubscriptionID)
    case closed(SubscriptionID, message: String)
    case notice(String)
    case authenticate(challenge: String)

    /// Reads the text of one WebSocket message.
    package init(_ text: UnsafeRawBufferPointer) throws(MessageError) {
        var reader = try JSONReader<MessageError>(text)
        let command = try reader.command()
        if reader.says(command, "EVENT") {
            let subscription = try reader.subscription()
            self = .event(subscription, try reader.lastElement("an event"))
            return
        } else if reader.says(command, "OK") {
            self = try Self.ok(&reader)
        } else if reader.says(command, "EOSE") {
            self = .endOfStoredEvents(try reader.subscription())
        } else if reader.says(command, "CLOSED") {
            let subscription = try reader.subscription()
            self = .closed(subscription, message: try reader.stringElement("a message"))
        } else if reader.says(command, "NOTICE") {
            self = .notice(try reader.stringElement("a message"))
        } else if reader.says(command, "AUTH") {
            self = .authenticate(challenge: try reader.stringElement("a challenge"))
        } else {
            throw reader.unknown(command, expected: ["EVENT", "OK", "EOSE", "CLOSED", "NOTICE", "AUTH"])
        }
        try reader.endMessage()
    }

    private static func ok(_ reader: inout JSONReader<MessageError>) throws(MessageError) -> ReceivedRelayMessage {
        try reader.nextElement("an event id")
        guard let id = try reader.hexString() else { throw .invalidEvent(.wrong(.id)) }
        try reader.nextElement("true or false")
        let isAccepted = reader.next == UInt8(ascii: "t")
        try reader.literal(isAccepted ? "true" : "false")
        return .ok(EventID(id), isAccepted: isAccepted, message: try reader.stringElement("a message"))
    }
}
