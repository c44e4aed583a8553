/// The headers of a message, in order (NATS ADR-4). Names are case-sensitive.
struct NATSHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    private struct Field: Hashable, Sendable {
        let name: String
        let value: String
    }

    /// The server's status instead of a response: 100 heartbeat, 404 not found, 503 no subscribers.
    let status: Int?
    /// The text after ``status``.
    let statusText: String
    private var fields: [Field] = []

    init(dictionaryLiteral elements: (String, String)...) {
        (status, statusText) = (nil, "")
        for (name, value) in elements { self[name] = value }
    }

    var isEmpty: Bool { status == nil && fields.isEmpty }

    /// The first value of a name. Setting replaces all of its values.
    subscript(name: String) -> String? {
        get { fields.first { $0.name == name }?.value }
        set {
            fields.removeAll { $0.name == name }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    // MARK: On the wire

    private static let version = "NATS/1.0"

    /// Parses a block that ends with an empty line.
    init(reading block: some Sequence<UInt8>) throws(NATSError) {
        var lines = String(decoding: Array(block), as: UTF8.self).split(
            separator: "\r\n",
            omittingEmptySubsequences: false
        )[...]
        guard let first = lines.popFirst(), first.hasPrefix(Self.version) else {
            throw .protocolViolation("headers that do not start with \(Self.version)")
        }
        let words = first.dropFirst(Self.version.count).split(separator: " ", maxSplits: 1)
        status = words.first.flatMap { Int($0) }
        statusText = words.count > 1 ? String(words[1]) : ""
        for line in lines where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { throw .protocolViolation("a header without a colon") }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append(Field(name: String(line[..<colon]), value: String(value)))
        }
    }

    /// The block, including the empty line. Throws if a name or value contains characters that would break its line.
    func written() throws(NATSError) -> [UInt8] {
        var text = Self.version + "\r\n"
        for field in fields {
            guard Self.isName(field.name), Self.isValue(field.value) else { throw .invalidHeader(field.name) }
            text += field.name + ": " + field.value + "\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
    }

    private static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    }
}
