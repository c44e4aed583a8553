import CNghttp2

/// One stream's place in a session: the bytes nghttp2 reads from while it sends, and the answer as it comes in.
///
/// Slots are used again and again; their memory stays where it is while a stream is open, as nghttp2 is told not to copy.
final class StreamSlot {
    /// Where the session's list of open streams holds this slot.
    var index = 0
    var streamID: Int32 = 0
    var submittedAt: Int64 = 0
    /// Nil once it has been answered for while the stream still closes.
    var exchange: Exchange?
    var status = 0
    var headers: [HTTPField] = []
    var headerBytes = 0
    var body: [UInt8] = []
    /// The answer is whole, or as much of it as was wanted.
    var isAnswered = false
    var wasReset = false
    /// Its HEADERS never left: the server cannot have seen it.
    var wasNeverSent = false

    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
    private var used = 0
    private(set) var fields: [nghttp2_nv] = []
    private var bodyStart = 0
    private var bodySent = 0

    deinit {
        memory.deallocate()
    }

    /// Copies the request into the slot's memory. The pointers in `fields` hold until `clear`.
    func load(_ exchange: Exchange, now: Int64) {
        let request = exchange.request
        let authority = exchange.url.origin.authority
        let needed =
            request.headers.reduce(
                256 + request.method.utf8.count + authority.utf8.count + exchange.url.target.utf8.count
            ) {
                $0 + $1.name.utf8.count + $1.value.utf8.count
            } + request.body.count
        if memory.count < needed {
            memory.deallocate()
            memory = .allocate(byteCount: needed, alignment: 16)
        }
        self.exchange = exchange
        submittedAt = now
        append(":method", request.method)
        append(":scheme", exchange.url.origin.isSecure ? "https" : "http")
        append(":authority", authority)
        append(":path", exchange.url.target, indexed: false)
        var hasLength = request.body.isEmpty
        for field in request.headers where !Self.isConnectionSpecific(field.name) {
            append(field.name, field.value, indexed: !Self.isUnrepeated(field.name))
            if field.name == "content-length" { hasLength = true }
        }
        if !hasLength { append("content-length", String(request.body.count), indexed: false) }
        bodyStart = used
        request.body.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: memory[used...]).copyMemory(from: $0) }
        used += request.body.count
    }

    /// Moves the next piece of the body to `destination`; true with the last one.
    func readBody(into destination: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let start = bodyStart + bodySent
        let count = min(used - start, destination.count)
        destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[start..<start + count]))
        bodySent += count
        return (count, start + count == used)
    }

    func clear() {
        exchange = nil
        streamID = 0
        status = 0
        headers = []
        headerBytes = 0
        body = []
        isAnswered = false
        wasReset = false
        wasNeverSent = false
        fields.removeAll(keepingCapacity: true)
        used = 0
        bodySent = 0
    }

    private func append(_ name: String, _ value: String, indexed: Bool = true) {
        let nameStart = copy(name)
        let valueStart = copy(value)
        let base = memory.baseAddress.map { $0.assumingMemoryBound(to: UInt8.self) }
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        fields.append(
            nghttp2_nv(
                name: base.map { $0 + nameStart },
                value: base.map { $0 + valueStart },
                namelen: valueStart - nameStart,
                valuelen: used - valueStart,
                flags: UInt8(indexed ? flags : flags | NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
            )
        )
    }

    private func copy(_ text: String) -> Int {
        let start = used
        var text = text
        text.withUTF8 { bytes in
            UnsafeMutableRawBufferPointer(rebasing: memory[start...]).copyMemory(from: UnsafeRawBufferPointer(bytes))
            used += bytes.count
        }
        return start
    }

    /// Different in every request or secret: indexing them would only wash useful entries out of the table.
    private static func isUnrepeated(_ name: String) -> Bool {
        switch name {
        case "authorization", "apns-id", "apns-collapse-id", "content-length": true
        default: false
        }
    }

    /// Has no place in HTTP/2 (RFC 9113, section 8.2.2); `host` became `:authority`.
    private static func isConnectionSpecific(_ name: String) -> Bool {
        switch name {
        case "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade": true
        default: false
        }
    }
}
