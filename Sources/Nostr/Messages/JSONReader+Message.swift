extension JSONReader<MessageError> {
    /// Reads up to the name of a message's command, and that.
    mutating func command() throws(MessageError) -> JSONString {
        skipWhitespace()
        try expect("[", .array)
        skipWhitespace()
        return try string()
    }

    /// Goes to the next element of the message, which is said to be `part` if it is not there.
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

    /// The place of the message's last element, which is left for ``EventScanner`` to look at: it will refuse what is
    /// not exactly one event.
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

    /// Nothing but the end of the array may be left.
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
