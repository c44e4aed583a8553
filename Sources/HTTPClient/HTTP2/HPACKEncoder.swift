/// The sending half of a connection's header compression (RFC 7541), tuned for similar requests: most fields become one
/// byte, and differing values are copied unchanged.
struct HPACKEncoder {
    private var table = DynamicTable()
    private var lines: [FieldLine] = []
    /// The smallest table limit since the last block.
    private var smallestLimit: Int?
    /// Whether the current block has had a `content-length`.
    private var hasContentLength = false

    /// Limits the table to the size that the peer accepts (RFC 7541, section 4.2).
    ///
    /// - Parameters:
    ///   - size: The peer's current size.
    ///   - smallest: Its smallest size since the last call.
    mutating func limitTable(to size: UInt32, atLeastOnceTo smallest: UInt32) {
        let size = min(Int(size), DynamicTable.initialLimit)
        let smallest = min(Int(smallest), size)
        guard size != table.limit || smallest != table.limit else { return }
        smallestLimit = min(smallest, smallestLimit ?? smallest)
        table.setLimit(smallest)
        table.setLimit(size)
    }

    mutating func beginBlock(_ block: inout BlockCursor) {
        hasContentLength = false
        guard let smallestLimit else { return }
        if smallestLimit < table.limit { block.put(smallestLimit, prefix: 5, pattern: 0x20) }
        block.put(table.limit, prefix: 5, pattern: 0x20)
        self.smallestLimit = nil
    }

    mutating func append(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>,
        to block: inout BlockCursor
    ) {
        if name.equals(Self.contentLength) { hasContentLength = true }
        guard let line = line(of: name) else { return appendStranger(name: name, value: value, to: &block) }
        let policy = lines[line].policy
        if policy == .omitted { return }
        if policy == .repeated || policy == .credential, let index = table.index(of: name, value) {
            lines[line].wasFound()
            return block.put(index, prefix: 7, pattern: 0x80)
        }
        let nameIndex = lines[line].staticIndex ?? table.index(of: name)
        if shouldInsert(value, line: line, hasNameIndex: nameIndex != nil) {
            put(nameIndex, name, prefix: 6, pattern: 0x40, to: &block)
            table.insert(name: name, value: value)
        } else if policy == .secret || policy == .credential {
            put(nameIndex, name, prefix: 4, pattern: 0x10, to: &block)
        } else {
            put(nameIndex, name, prefix: 4, pattern: 0x00, to: &block)
        }
        block.put(literal: value)
    }

    private mutating func shouldInsert(
        _ value: UnsafeBufferPointer<UInt8>,
        line index: Int,
        hasNameIndex: Bool
    ) -> Bool {
        guard table.hasRoom(forNameAndValue: lines[index].name.count + value.count) else { return false }
        if lines[index].policy == .unrepeated { return !hasNameIndex }
        return lines[index].isWorthInserting(value)
    }

    /// Writes a field whose name has no ``FieldLine``, because all of these are taken.
    private func appendStranger(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>,
        to block: inout BlockCursor
    ) {
        let policy = IndexingPolicy(name: name)
        guard policy != .omitted else { return }
        put(StaticTable.index(of: name), name, prefix: 4, pattern: 0x10, to: &block)
        block.put(literal: value)
    }

    private func put(
        _ nameIndex: Int?,
        _ name: UnsafeBufferPointer<UInt8>,
        prefix: UInt8,
        pattern: UInt8,
        to block: inout BlockCursor
    ) {
        if let nameIndex {
            block.put(nameIndex, prefix: prefix, pattern: pattern)
        } else {
            block.put(pattern)
            block.put(literal: name)
        }
    }

    private mutating func line(of name: UnsafeBufferPointer<UInt8>) -> Int? {
        if let known = lines.firstIndex(where: { name.equals($0.name) }) { return known }
        guard lines.count < Self.lineLimit else { return nil }
        lines.append(FieldLine(name))
        return lines.count - 1
    }

    /// A connection uses few names. More names are sent, but not remembered.
    private static let lineLimit = 64
}

extension HPACKEncoder {
    /// The maximum size of a request's field block, in bytes.
    static func bound(_ exchange: Exchange) -> Int {
        let fields = exchange.request.headers.count + 6
        return fields * perField + exchange.request.headers.byteCount + exchange.request.method.utf8.count
            + exchange.url.origin.authority.utf8.count + exchange.url.target.utf8.count
    }

    /// Writes a request's field block (RFC 9113, section 8.3.1).
    mutating func encode(_ exchange: Exchange, to block: inout BlockCursor) {
        beginBlock(&block)
        switch exchange.request.method {
        case "POST": block.put(0x80 | StaticTable.methodPOST)
        case "GET": block.put(0x80 | StaticTable.methodGET)
        default: append(":method", exchange.request.method, to: &block)
        }
        block.put(0x80 | (exchange.url.origin.isSecure ? StaticTable.schemeHTTPS : StaticTable.schemeHTTP))
        append(":authority", exchange.url.origin.authority, to: &block)
        append(":path", exchange.url.target, to: &block)
        exchange.request.headers.withBytes { fields in
            for index in 0..<fields.count {
                let (name, value) = fields[index]
                append(name: name, value: value, to: &block)
            }
        }
        let length = exchange.request.body.count
        if length > 0, !hasContentLength { appendContentLength(length, to: &block) }
    }

    private mutating func append(_ name: StaticString, _ value: String, to block: inout BlockCursor) {
        let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var value = value
        value.withUTF8 { append(name: name, value: $0, to: &block) }
    }

    private mutating func appendContentLength(_ count: Int, to block: inout BlockCursor) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = count
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            append(
                name: UnsafeBufferPointer(
                    start: Self.contentLength.utf8Start,
                    count: Self.contentLength.utf8CodeUnitCount
                ),
                value: UnsafeBufferPointer(rebasing: digits[start...]),
                to: &block
            )
        }
    }

    private static let contentLength: StaticString = "content-length"
    /// A field's overhead in bytes: a first byte, an index, two lengths (five bytes each), a content length's digits.
    private static let perField = 36
}

/// Writes a field block's primitives (RFC 7541, section 5) into memory that is large enough.
struct BlockCursor {
    private let start: UnsafeMutablePointer<UInt8>
    private var next: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    /// Nil if the memory is empty.
    init?(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        start = base
        next = base
        end = base + memory.count
    }

    /// The number of bytes written.
    var count: Int { next - start }

    mutating func put(_ byte: UInt8) {
        precondition(next < end, "a field block outgrew its memory")
        next.pointee = byte
        next += 1
    }

    mutating func put(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return }
        precondition(bytes.count <= end - next, "a field block outgrew its memory")
        next.update(from: base, count: bytes.count)
        next += bytes.count
    }

    /// - Parameters:
    ///   - number: The number to write.
    ///   - prefix: How many bits of the first byte it may use.
    ///   - pattern: The bits above these.
    mutating func put(_ number: Int, prefix: UInt8, pattern: UInt8) {
        let limit = (1 << Int(prefix)) - 1
        guard number >= limit else { return put(pattern | UInt8(truncatingIfNeeded: number)) }
        put(pattern | UInt8(truncatingIfNeeded: limit))
        var rest = number - limit
        while rest >= 0x80 {
            put(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        put(UInt8(truncatingIfNeeded: rest))
    }

    /// Uncompressed: Huffman coding would save only a few bytes, which TLS encrypts cheaply anyway.
    mutating func put(literal bytes: UnsafeBufferPointer<UInt8>) {
        put(bytes.count, prefix: 7, pattern: 0)
        put(bytes)
    }
}

/// The encoder's state for one field name.
struct FieldLine {
    let policy: IndexingPolicy
    let name: [UInt8]
    /// In the static table.
    let staticIndex: Int?
    /// How many more values it may insert before one is found again.
    private var credit = FieldLine.initialCredit
    /// The last value that was not inserted.
    private var candidate: [UInt8]?

    init(_ name: UnsafeBufferPointer<UInt8>) {
        policy = IndexingPolicy(name: name)
        self.name = Array(name)
        staticIndex = StaticTable.index(of: name)
    }

    mutating func wasFound() {
        credit = min(credit + 1, Self.creditLimit)
    }

    /// Whether to insert a value that the table does not hold.
    mutating func isWorthInserting(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch policy {
        case .omitted, .secret, .unrepeated:
            return false
        case .credential where value.count < Self.guessable:
            return false
        case .repeated where credit > 0:
            credit -= 1
            return true
        case .credential, .repeated:
            if let candidate, value.equals(candidate) { return true }
            candidate = Array(value)
            return false
        }
    }

    private static let initialCredit = 4
    private static let creditLimit = 16
    /// Shorter secrets could be guessed by observing repetitions (RFC 7541, section 7.1).
    private static let guessable = 64
}

/// Whether a field's value enters the connection's table, by the field's name. It implements Apple's rules for APNs,
/// the newer of the two for `authorization`.
enum IndexingPolicy {
    /// Not allowed in HTTP/2 (RFC 9113, section 8.2.2), or replaced by a pseudo-header.
    case omitted
    /// Belongs to one device: it never enters a table, here or at an intermediary (RFC 7541, section 7.1.3).
    case secret
    /// Shared by many requests but worth guessing: only long values that occur twice in a row enter the table.
    case credential
    /// Differs from request to request: its name enters the table.
    case unrepeated
    /// Enters the table while that saves bytes.
    case repeated

    init(name: UnsafeBufferPointer<UInt8>) {
        self =
            switch String(decoding: name, as: UTF8.self) {
            case "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade": .omitted
            case ":path", "cookie", "x-gotify-key": .secret
            case "authorization", "proxy-authorization": .credential
            case "apns-id", "apns-expiration", "apns-collapse-id", "apns-request-id", "content-length", "crypto-key",
                "encryption", "topic":
                .unrepeated
            default: .repeated
            }
    }
}
