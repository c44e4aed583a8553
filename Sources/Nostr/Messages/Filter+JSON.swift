extension Filter {
    /// The filter as JSON. Sets are sorted, so that equal filters are equal texts.
    package var json: [UInt8] {
        var text = JSONText(spelling: .escaped)
        append(to: &text)
        return text.bytes
    }

    func append(to text: inout JSONText) {
        text.append("{")
        var separator: StaticString = ""
        func key(_ name: String) {
            text.append(separator)
            separator = ","
            text.appendQuoted(name)
            text.append(":")
        }
        if let ids {
            key("ids")
            text.appendArray(ids.sorted()) { $0.appendQuoted($1.bytes) }
        }
        if let authors {
            key("authors")
            text.appendArray(authors.sorted()) { $0.appendQuoted($1.bytes) }
        }
        if let kinds {
            key("kinds")
            text.appendArray(kinds.map(\.rawValue).sorted()) { $0.append($1) }
        }
        for (letter, values) in tags.sorted(by: { $0.key < $1.key }) {
            key("#\(letter)")
            text.appendArray(values.sorted()) { $0.appendQuoted($1) }
        }
        for (name, number) in [("since", since), ("until", until), ("limit", limit.map(Int64.init))] {
            guard let number else { continue }
            key(name)
            text.append(number)
        }
        text.append("}")
    }
}

extension JSONReader<MessageError> {
    /// Reads a filter. Fields of which NIP-01 says nothing are passed over.
    mutating func filter() throws(MessageError) -> Filter {
        try expect("{", .object)
        var filter = Filter()
        var seen: Set<FilterField> = []
        skipWhitespace()
        if take("}") { return filter }
        repeat {
            let name = text(try key())
            if let field = FilterField(name: name) {
                guard seen.insert(field).inserted else { throw .repeatedFilterField(field) }
                try read(field, into: &filter)
            } else {
                try skipValue()
            }
            skipWhitespace()
        } while take(",")
        try expect("}", .objectEnd)
        return filter
    }

    private mutating func read(_ field: FilterField, into filter: inout Filter) throws(MessageError) {
        switch field {
        case .ids:
            filter.ids = Set(
                try array(field) { reader throws(MessageError) in try reader.hexString() }.map(EventID.init)
            )
        case .authors:
            filter.authors = Set(
                try array(field) { reader throws(MessageError) in try reader.hexString() }.map(PublicKey.init)
            )
        case .kinds:
            filter.kinds = Set(
                try array(field) { reader throws(MessageError) in
                    reader.natural().flatMap(UInt16.init(exactly:)).map { Kind($0) }
                }
            )
        case .since: filter.since = try natural(field)
        case .until: filter.until = try natural(field)
        case .limit: filter.limit = Int(try natural(field))
        case .tag:
            guard let letter = field.letter else { throw .wrongFilter(field) }
            filter.tags[letter] = Set(
                try array(field) { reader throws(MessageError) in
                    guard reader.next == UInt8(ascii: "\"") else { return nil }
                    let string = try reader.string()
                    if letter == "e" || letter == "p", reader.hex(string) == nil { return nil }
                    return reader.text(string)
                }
            )
        }
    }

    private mutating func natural(_ field: FilterField) throws(MessageError) -> Int64 {
        guard let number = natural() else { throw .wrongFilter(field) }
        return number
    }

    private mutating func array<Element>(
        _ field: FilterField,
        _ element: (inout Self) throws(MessageError) -> Element?
    ) throws(MessageError) -> [Element] {
        guard take("[") else { throw .wrongFilter(field) }
        var elements: [Element] = []
        skipWhitespace()
        if take("]") { return elements }
        repeat {
            skipWhitespace()
            guard let next = try element(&self) else { throw .wrongFilter(field) }
            elements.append(next)
            skipWhitespace()
        } while take(",")
        try expect("]", .arrayEnd)
        return elements
    }
}
