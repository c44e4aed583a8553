extension EventScanner {
    /// Scans the array of tags and gathers what the `p` tags name.
    @inline(__always)
    mutating func scanTags(_ reader: inout JSONReader<EventError>) throws(EventError) -> ScannedText {
        let start = reader.position
        guard reader.take("[") else { throw .wrong(.tags) }
        var traits: JSONString.Traits = []
        var hasWhitespace = reader.skipWhitespace()
        if !reader.take("]") {
            while true {
                guard reader.take("[") else { throw .wrong(.tags) }
                try scanTag(&reader, &traits, &hasWhitespace)
                if reader.skipWhitespace() { hasWhitespace = true }
                if reader.take("]") { break }
                try reader.expect(",", .arrayEnd)
                if reader.skipWhitespace() { hasWhitespace = true }
            }
        }
        return ScannedText(
            range: Range(uncheckedBounds: (start, reader.position)),
            traits: traits,
            hasWhitespace: hasWhitespace
        )
    }

    /// Scans a tag from after its opening bracket to after its closing one.
    @inline(__always)
    private mutating func scanTag(
        _ reader: inout JSONReader<EventError>,
        _ traits: inout JSONString.Traits,
        _ hasWhitespace: inout Bool
    ) throws(EventError) {
        if reader.skipWhitespace() { hasWhitespace = true }
        var isAwaitingKey = false
        var isName = true
        while true {
            if isAwaitingKey {
                isAwaitingKey = false
                try scanKey(&reader, &traits)
            } else {
                guard reader.next == UInt8(ascii: "\"") else { throw .wrong(.tags) }
                let string = try reader.string()
                traits.formUnion(string.traits)
                if isName { isAwaitingKey = isP(string, in: reader) }
                isName = false
            }
            if reader.skipWhitespace() { hasWhitespace = true }
            if reader.take("]") { return }
            try reader.expect(",", .arrayEnd)
            if reader.skipWhitespace() { hasWhitespace = true }
        }
    }

    /// Scans the first value of a `p` tag, which may be anything that is a string.
    @inline(__always)
    private mutating func scanKey(
        _ reader: inout JSONReader<EventError>,
        _ traits: inout JSONString.Traits
    ) throws(EventError) {
        if let key = reader.takePlainHex() {
            pValues.append(key)
            return
        }
        guard reader.next == UInt8(ascii: "\"") else { throw .wrong(.tags) }
        let string = try reader.string()
        traits.formUnion(string.traits)
        if string.traits.contains(.escaped), let key = reader.hex(string) { pValues.append(key) }
    }

    /// Whether a tag's name says `p`, which it may do in several ways.
    @inline(__always)
    private func isP(_ name: JSONString, in reader: JSONReader<EventError>) -> Bool {
        if name.traits.contains(.escaped) { return reader.says(name, "p") }
        return name.count == 1 && reader.byte(name.start) == UInt8(ascii: "p")
    }
}
