/// One answer as its frames come in: interim ones, the final one's fields and content, trailers (RFC 9113, section 8.1).
struct Answer {
    private enum Section {
        case headers
        case content
    }

    /// Of the final answer; 0 until its fields are complete.
    private(set) var status = 0
    private var fields = HTTPFields()
    private var body: [UInt8] = []
    /// All of it that is wanted is there, though the peer has not ended it.
    private(set) var isCutOff = false

    private let bodyLimit: Int
    private let isToHead: Bool
    private var section = Section.headers
    private var announcedLength: Int?
    private var contentLength = 0

    /// - Parameters:
    ///   - bodyLimit: How many bytes of content are kept.
    ///   - isToHead: Answers to HEAD announce a length but have no content.
    init(bodyLimit: Int, isToHead: Bool) {
        self.bodyLimit = bodyLimit
        self.isToHead = isToHead
    }

    /// Whether the next field block can only hold trailers.
    var awaitsTrailers: Bool { section == .content }

    /// Takes in a whole field block.
    mutating func received(_ block: AnswerBlock, endsStream: Bool) throws(HTTP2Violation) {
        try block.check()
        switch section {
        case .content:
            guard endsStream else { throw .stream(.protocolError) }
            try checkLength()
        case .headers where block.status < 200:
            // A client that asked for no upgrade is not switched (RFC 9113, section 8.6).
            guard !endsStream, block.status != 101 else { throw .stream(.protocolError) }
        case .headers:
            status = block.status
            fields = block.fields
            announcedLength = block.contentLength
            section = .content
            if endsStream { try checkLength() }
        }
    }

    /// The final answer, which leaves nothing behind.
    mutating func take() -> HTTPResponse {
        var response = HTTPResponse(status: status)
        swap(&response.headers, &fields)
        swap(&response.body, &body)
        return response
    }

    /// Takes in content, as far as it is wanted.
    mutating func received(content piece: UnsafeRawBufferPointer, endsStream: Bool) throws(HTTP2Violation) {
        guard section == .content else { throw .stream(.protocolError) }
        contentLength += piece.count
        if let announcedLength, contentLength > announcedLength, hasContent { throw .stream(.protocolError) }
        if endsStream { try checkLength() }
        guard hasContent, !piece.isEmpty else { return }
        let room = bodyLimit - body.count
        if body.isEmpty { body.reserveCapacity(min(bodyLimit, max(piece.count, announcedLength ?? 0))) }
        body.append(contentsOf: piece.prefix(room))
        isCutOff = piece.count > room
    }

    private func checkLength() throws(HTTP2Violation) {
        guard let announcedLength, hasContent, contentLength != announcedLength else { return }
        throw .stream(.protocolError)
    }

    private var hasContent: Bool { !isToHead && status != 204 && status != 304 }
}
