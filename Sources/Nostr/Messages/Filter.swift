import JSON

/// A subscription's filter for events (NIP-01). `nil` and absent fields match everything; an empty set matches no
/// event.
package struct Filter: Hashable, Sendable {
    package var ids: Set<EventID>?
    package var authors: Set<PublicKey>?
    package var kinds: Set<Kind>?
    /// Values by letter, `e` for `#e`: an event matches if the first value of such a tag is one of these. Strings that
    /// differ only in Unicode composition are equal.
    package var tags: [Character: Set<String>]
    /// Seconds since 1970, inclusive.
    package var since: Int64?
    /// Seconds since 1970, inclusive.
    package var until: Int64?
    /// The maximum number of stored events to send, newest first. Does not limit future events.
    package var limit: Int?

    package init(
        ids: Set<EventID>? = nil,
        authors: Set<PublicKey>? = nil,
        kinds: Set<Kind>? = nil,
        tags: [Character: Set<String>] = [:],
        since: Int64? = nil,
        until: Int64? = nil,
        limit: Int? = nil
    ) {
        self.ids = ids
        self.authors = authors
        self.kinds = kinds
        self.tags = tags
        self.since = since
        self.until = until
        self.limit = limit
    }

    /// Whether `event` matches. ``limit`` is ignored.
    package func matches(_ event: Event) -> Bool {
        if let ids, !ids.contains(event.id) { return false }
        if let authors, !authors.contains(event.pubkey) { return false }
        if let kinds, !kinds.contains(event.kind) { return false }
        if let since, event.createdAt < since { return false }
        if let until, event.createdAt > until { return false }
        return tags.allSatisfy { letter, values in
            event.tags.contains { tag in
                tag.count > 1 && tag[0] == String(letter) && values.contains(tag[1])
            }
        }
    }
}

/// A field of a filter (NIP-01).
package enum FilterField: Hashable, Sendable {
    case ids
    case authors
    case kinds
    case since
    case until
    case limit
    /// The part after `#`.
    case tag(String)

    /// `nil` for a field that NIP-01 does not define, such as NIP-50's `search`. Such fields are skipped.
    init?(name: String) {
        switch name {
        case "ids": self = .ids
        case "authors": self = .authors
        case "kinds": self = .kinds
        case "since": self = .since
        case "until": self = .until
        case "limit": self = .limit
        case let name where name.hasPrefix("#"): self = .tag(String(name.dropFirst()))
        default: return nil
        }
    }

    /// The name in JSON, for a tag only if it is a single letter.
    var name: String {
        switch self {
        case .ids: "ids"
        case .authors: "authors"
        case .kinds: "kinds"
        case .since: "since"
        case .until: "until"
        case .limit: "limit"
        case .tag(let name): letter == nil ? "a field that starts with #" : "#\(name)"
        }
    }

    /// The value that NIP-01 requires.
    var expectation: String {
        switch self {
        case .ids, .authors, .tag("e"), .tag("p"): "an array of strings of 64 lowercase hexadecimal digits"
        case .kinds: "an array of integers from 0 to 65535"
        case .since, .until: "an integer from 0, in seconds"
        case .limit: "an integer from 0"
        case .tag: letter == nil ? "named by a single letter" : "an array of strings"
        }
    }

    /// The letter of a tag that a filter can name.
    var letter: Character? {
        guard case .tag(let name) = self, name.utf8.count == 1, let letter = name.first, letter.isLetter else {
            return nil
        }
        return letter
    }
}

extension Filter {
    /// The filter as JSON. Sets are sorted, so that equal filters have equal JSON.
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
    /// Reads a filter. Fields that NIP-01 does not define are skipped.
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
