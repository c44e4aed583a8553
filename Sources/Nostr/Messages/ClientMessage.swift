import JSON

/// A message from a client to a relay (NIP-01, NIP-42).
package enum ClientMessage: Hashable, Sendable {
    /// Publishes an event, given by its offsets in the message. The event is not parsed.
    case event(Range<Int>)
    /// `REQ`: requests stored and future events that any of the filters matches.
    case request(SubscriptionID, [Filter])
    case close(SubscriptionID)
    /// Answers a challenge (NIP-42). The event is unverified.
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

/// A message from the router to a relay (NIP-01, NIP-42).
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

extension JSONReader<MessageError> {
    /// Reads a message up to and including its command.
    mutating func command() throws(MessageError) -> JSONString {
        skipWhitespace()
        try expect("[", .array)
        skipWhitespace()
        return try string()
    }

    /// Moves to the next element of the message. `part` names it in the error if it is missing.
    mutating func nextElement(_ part: StaticString) throws(MessageError) {
        skipWhitespace()
        guard take(",") else {
            guard next == UInt8(ascii: "]") else { throw fault(.arrayEnd) }
            throw .missing("\(part)")
        }
        skipWhitespace()
    }

    mutating func subscription() throws(MessageError) -> SubscriptionID {
        try nextElement("a subscription id")
        guard next == UInt8(ascii: "\""), let id = SubscriptionID(text(try string())) else { throw .wrongSubscription }
        return id
    }

    /// Reads an element that is a string.
    mutating func stringElement(_ part: StaticString) throws(MessageError) -> String {
        try nextElement(part)
        return text(try string())
    }

    /// Returns the range of the message's last element without parsing it: ``EventScanner`` refuses anything but one
    /// event.
    mutating func lastElement(_ part: StaticString) throws(MessageError) -> Range<Int> {
        try nextElement(part)
        let start = position
        var end = count
        while end > start, isWhitespace(byte(end - 1)) { end -= 1 }
        guard end > start, byte(end - 1) == UInt8(ascii: "]") else {
            position = end
            throw fault(.arrayEnd)
        }
        end -= 1
        while end > start, isWhitespace(byte(end - 1)) { end -= 1 }
        guard end > start else { throw .missing("\(part)") }
        position = count
        return start..<end
    }

    /// Throws unless only the end of the array is left.
    mutating func endMessage() throws(MessageError) {
        skipWhitespace()
        try expect("]", .arrayEnd)
        try end()
    }

    func unknown(_ command: JSONString, expected: [String]) -> MessageError {
        let name = text(command)
        let isWord = name.utf8.count <= 16 && name.utf8.allSatisfy { (0x41...0x5a).contains($0 & 0xdf) || $0 == 0x2d }
        return .unknownCommand(isWord ? name : "", expected: expected)
    }

    private func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09
    }
}

/// An error that makes a Nostr protocol message invalid (NIP-01, NIP-42). The description can be sent as a `NOTICE`.
package enum MessageError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(JSONSyntaxError)
    /// With the command's name if it is a short word, otherwise with an empty string.
    case unknownCommand(String, expected: [String])
    case wrongSubscription
    case missing(String)
    case wrongFilter(FilterField)
    case repeatedFilterField(FilterField)
    case invalidEvent(EventError)

    package var description: String {
        switch self {
        case .malformed(let fault):
            "a message must be a JSON array that starts with the name of a command: \(fault)"
        case .unknownCommand(let name, let expected):
            "unknown command\(name.isEmpty ? "" : " " + name): expected \(Self.list(expected))"
        case .wrongSubscription: "a subscription id must be a string of 1 to 64 characters"
        case .missing(let part): "the message ends too early: expected \(part)"
        case .wrongFilter(let field): "\(field.name) in a filter must be \(field.expectation)"
        case .repeatedFilterField(let field): "\(field.name) must occur in a filter only once"
        case .invalidEvent(let error): error.description
        }
    }

    private static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension MessageError: JSONSyntaxErrorConvertible {
    package init(_ fault: JSONSyntaxError) {
        self = .malformed(fault)
    }
}

/// A client's name for one of its subscriptions (NIP-01): 1 to 64 characters, valid on one connection.
package struct SubscriptionID: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    /// `nil` unless `name` has 1 to 64 characters. Characters are Unicode scalars, because a grapheme may have any
    /// length.
    package init?(_ name: String) {
        let bytes = name.utf8.count
        guard bytes > 0, bytes <= 64 || name.unicodeScalars.count <= 64 else { return nil }
        self.name = name
    }

    package var description: String { name }
}

/// The machine-readable first word in a relay's `OK` and `CLOSED` (NIP-01, NIP-42).
package enum MachineReadablePrefix: String, CaseIterable, Hashable, Sendable {
    case authRequired = "auth-required"
    case blocked
    case duplicate
    case error
    case invalid
    case mute
    case pow
    case rateLimited = "rate-limited"
    case restricted
    case unsupported

    /// The prefix of `message`; `nil` if it has no known prefix.
    package init?(of message: String) {
        guard let colon = message.firstIndex(of: ":") else { return nil }
        self.init(rawValue: String(message[..<colon]))
    }

    /// Returns `text`, which is for people, with this prefix.
    package func message(_ text: some CustomStringConvertible) -> String {
        "\(rawValue): \(text)"
    }
}
