/// A step through an array of tags.
enum TagPart {
    case tagBegins
    case string(JSONString)
    case tagEnds
}

extension JSONReader<EventError> {
    /// Reads the whole array of tags, handing out one part after the other.
    mutating func tagParts(_ visit: (TagPart) -> Void) throws(EventError) {
        try expect("[", .array)
        skipWhitespace()
        if take("]") { return }
        repeat {
            skipWhitespace()
            try expect("[", .array)
            visit(.tagBegins)
            repeat {
                skipWhitespace()
                visit(.string(try string()))
                skipWhitespace()
            } while take(",")
            try expect("]", .arrayEnd)
            visit(.tagEnds)
            skipWhitespace()
        } while take(",")
        try expect("]", .arrayEnd)
    }
}
