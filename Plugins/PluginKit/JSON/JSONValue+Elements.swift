extension JSONValue {
    /// The elements of the list that it is, or nil when it is none.
    public var elements: [JSONValue]? {
        guard raw.first == UInt8(ascii: "[") else { return nil }
        let ranges = raw.withUnsafeBytes { try? JSONValue.elements(in: $0) }
        return ranges?.map { range in
            JSONValue(raw: raw[raw.startIndex + range.lowerBound..<raw.startIndex + range.upperBound])
        }
    }

    private static func elements(in list: UnsafeRawBufferPointer) throws(JSONError) -> [Range<Int>] {
        var scanner = JSONScanner(list, from: 1)
        var elements: [Range<Int>] = []
        scanner.skipBlanks()
        if scanner.skip(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try scanner.value(depth: 2))
            scanner.skipBlanks()
        } while scanner.skip(UInt8(ascii: ","))
        return elements
    }
}
