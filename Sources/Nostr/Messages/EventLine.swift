import JSON

/// Finds the event in a line of text, for input with one event on each line.
///
/// Accepts the usual output of tools and relays: the event itself, a message of NIP-01 that contains one
/// (`["EVENT",{…}]`, `["EVENT","subscription",{…}]`), or strfry's input for plugins (`{"type":"new","event":{…}}`).
package enum EventLine {
    /// Returns the range of the event in `line`, for ``EventScanner``. Nil for a message without an event, such as
    /// `["EOSE","subscription"]`.
    package static func event(in line: [UInt8]) throws(EventLineError) -> Range<Int>? {
        try line.withUnsafeBufferPointer { line throws(EventLineError) in
            try event(in: UnsafeRawBufferPointer(line))
        }
    }

    /// Does the same for borrowed bytes.
    package static func event(in line: UnsafeRawBufferPointer) throws(EventLineError) -> Range<Int>? {
        var reader = try JSONReader<EventLineError>(line)
        reader.skipWhitespace()
        if reader.take("[") { return try message(&reader) }
        guard reader.take("{") else { throw .neitherEventNorMessage }
        return try object(&reader, in: line)
    }

    private static func message(_ reader: inout JSONReader<EventLineError>) throws(EventLineError) -> Range<Int>? {
        reader.skipWhitespace()
        guard reader.next == UInt8(ascii: "\"") else { throw .neitherEventNorMessage }
        let isEvent = reader.says(try reader.string(), "EVENT")
        var last: Range<Int>?
        reader.skipWhitespace()
        while reader.take(",") {
            reader.skipWhitespace()
            let isObject = reader.next == UInt8(ascii: "{")
            let start = reader.position
            try reader.skipValue()
            last = isObject ? start..<reader.position : nil
            reader.skipWhitespace()
        }
        try reader.expect("]", .arrayEnd)
        try reader.end()
        guard isEvent else { return nil }
        guard let last else { throw .neitherEventNorMessage }
        return last
    }

    /// The first known key distinguishes an event from a message about one.
    private static func object(
        _ reader: inout JSONReader<EventLineError>,
        in line: UnsafeRawBufferPointer
    ) throws(EventLineError) -> Range<Int>? {
        var event: Range<Int>?
        var isNews: Bool?
        reader.skipWhitespace()
        guard !reader.take("}") else { throw .neitherEventNorMessage }
        repeat {
            let key = try reader.key()
            let start = reader.position
            if event == nil, isNews == nil, EventField(key, in: reader) != nil {
                return line.indices
            } else if reader.says(key, "event") {
                guard reader.next == UInt8(ascii: "{") else { throw .neitherEventNorMessage }
                try reader.skipValue()
                event = start..<reader.position
            } else if reader.says(key, "type") {
                try reader.skipValue()
                isNews = line[start..<reader.position].elementsEqual(#""new""#.utf8)
            } else {
                try reader.skipValue()
            }
            reader.skipWhitespace()
        } while reader.take(",")
        try reader.expect("}", .objectEnd)
        try reader.end()
        guard let isNews else { throw .neitherEventNorMessage }
        guard isNews else { return nil }
        guard let event else { throw .neitherEventNorMessage }
        return event
    }
}

/// The reason why a line has no event. Never quotes the line.
package enum EventLineError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(JSONSyntaxError)
    case neitherEventNorMessage

    package var description: String {
        switch self {
        case .malformed(let fault): "not JSON: \(fault)"
        case .neitherEventNorMessage:
            #"expected an event, ["EVENT",…] or a message of strfry to its plugin, {"type":"new","event":…}"#
        }
    }
}

extension EventLineError: JSONSyntaxErrorConvertible {
    package init(_ fault: JSONSyntaxError) {
        self = .malformed(fault)
    }
}
