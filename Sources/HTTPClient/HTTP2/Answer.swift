/// One response while its frames arrive: interim ones, then final fields, content and trailers (RFC 9113, section
/// 8.1).
struct Answer {
    private enum Section {
        case headers
        case content
    }

    /// The final response's status; 0 until its fields are complete.
    private(set) var status = 0
    private var fields = HTTPFields()
    private var body: [UInt8] = []
    /// The body limit is reached, though the peer has not ended the response.
    private(set) var isCutOff = false

    private let bodyLimit: Int
    private let isToHead: Bool
    private var section = Section.headers
    private var announcedLength: Int?
    private var contentLength = 0

    /// - Parameters:
    ///   - bodyLimit: How many bytes of content are kept.
    ///   - isToHead: Responses to HEAD announce a length but have no content.
    init(bodyLimit: Int, isToHead: Bool) {
        self.bodyLimit = bodyLimit
        self.isToHead = isToHead
    }

    /// Whether the next field block can only hold trailers.
    var awaitsTrailers: Bool { section == .content }

    /// Takes a complete field block.
    mutating func received(_ block: consuming AnswerBlock, endsStream: Bool) throws(HTTP2Violation) {
        try block.check()
        switch section {
        case .content:
            guard endsStream else { throw .stream(.protocolError) }
            try checkLength()
        case .headers where block.status < 200:
            // A server must not switch protocols without an upgrade request (RFC 9113, section 8.6).
            guard !endsStream, block.status != 101 else { throw .stream(.protocolError) }
        case .headers:
            status = block.status
            announcedLength = block.contentLength
            fields = block.takeFields()
            section = .content
            if endsStream { try checkLength() }
        }
    }

    /// Moves the final response out.
    mutating func take() -> HTTPResponse {
        var response = HTTPResponse(status: status)
        swap(&response.headers, &fields)
        swap(&response.body, &body)
        return response
    }

    /// Takes content up to the limit. Returns the number of bytes kept.
    mutating func received(content piece: UnsafeRawBufferPointer, endsStream: Bool) throws(HTTP2Violation) -> Int {
        guard section == .content else { throw .stream(.protocolError) }
        contentLength += piece.count
        if let announcedLength, contentLength > announcedLength, hasContent { throw .stream(.protocolError) }
        if endsStream { try checkLength() }
        guard hasContent, !piece.isEmpty else { return 0 }
        let room = bodyLimit - body.count
        if body.isEmpty { body.reserveCapacity(min(bodyLimit, max(piece.count, announcedLength ?? 0))) }
        body.append(contentsOf: piece.prefix(room))
        isCutOff = piece.count > room
        return min(room, piece.count)
    }

    private func checkLength() throws(HTTP2Violation) {
        guard let announcedLength, hasContent, contentLength != announcedLength else { return }
        throw .stream(.protocolError)
    }

    private var hasContent: Bool { !isToHead && status != 204 && status != 304 }
}

/// The fields of one response block while they are decoded, and whether HTTP/2 allows them (RFC 9113, sections 8.2 and
/// 8.3). Errors are reported only at its end, because the decoder must read every block completely.
struct AnswerBlock {
    private(set) var status = 0
    private(set) var fields = HTTPFields()
    private(set) var contentLength: Int?
    let areTrailers: Bool
    private var isMalformed = false
    private var listSize = 0
    private var hasRegularFields = false

    init(areTrailers: Bool) {
        self.areTrailers = areTrailers
    }

    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        listSize += name.count + value.count + 32
        guard listSize <= HTTP2Session.headerLimit, !isMalformed else { return }
        if name.first == UInt8(ascii: ":") { return appendPseudo(name: name, value: value) }
        hasRegularFields = true
        if Self.isConnectionSpecific(name) || Self.isBlank(value.first) || Self.isBlank(value.last) {
            isMalformed = true
        } else if name.count == Self.contentLengthName.utf8CodeUnitCount, name.equals(Self.contentLengthName) {
            appendLength(value)
        }
        // Trailers are checked but not kept, because callers ask only for headers.
        fields.append(name: name, value: value)
    }

    mutating func takeFields() -> HTTPFields {
        var taken = HTTPFields()
        swap(&taken, &fields)
        return taken
    }

    /// The error of the whole block, if any.
    func check() throws(HTTP2Violation) {
        guard !isMalformed, fields.isWellFormed, areTrailers || status > 0 else { throw .stream(.protocolError) }
        guard listSize <= HTTP2Session.headerLimit else { throw .stream(.enhanceYourCalm) }
    }

    private mutating func appendPseudo(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard !areTrailers, !hasRegularFields, status == 0, name.equals(":status"), value.count == 3,
            let number = Self.number(value), number >= 100
        else {
            isMalformed = true
            return
        }
        status = number
    }

    private mutating func appendLength(_ value: UnsafeBufferPointer<UInt8>) {
        guard contentLength == nil, (1...15).contains(value.count), let number = Self.number(value) else {
            isMalformed = true
            return
        }
        contentLength = number
    }

    private static let contentLengthName: StaticString = "content-length"

    private static func number(_ digits: UnsafeBufferPointer<UInt8>) -> Int? {
        var number = 0
        for digit in digits {
            guard digit &- 0x30 < 10 else { return nil }
            number = 10 * number + Int(digit &- 0x30)
        }
        return number
    }

    private static func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }

    /// RFC 9113, section 8.2.2.
    private static func isConnectionSpecific(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 7: name.equals("upgrade")
        case 10: name.equals("connection") || name.equals("keep-alive")
        case 16: name.equals("proxy-connection")
        case 17: name.equals("transfer-encoding")
        default: false
        }
    }
}

/// A field block in progress across HEADERS and CONTINUATION frames (RFC 9113, section 4.3).
struct FieldBlock {
    let streamID: Int32
    let endsStream: Bool
    var fields: AnswerBlock
    private var frames = 0
    private var bytes = 0

    init(streamID: Int32, endsStream: Bool, areTrailers: Bool) {
        self.streamID = streamID
        self.endsStream = endsStream
        fields = AnswerBlock(areTrailers: areTrailers)
    }

    mutating func takeFields() -> AnswerBlock {
        var taken = AnswerBlock(areTrailers: fields.areTrailers)
        swap(&taken, &fields)
        return taken
    }

    /// False if a block is endless: even discarded fields must be decoded.
    mutating func received(_ count: Int) -> Bool {
        frames += 1
        bytes += count
        return frames <= Self.frameLimit && bytes <= Self.byteLimit
    }

    private static let frameLimit = 512
    private static let byteLimit = 4 * HTTP2Session.headerLimit
}
