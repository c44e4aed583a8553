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
    var headers = HTTPFields()
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
    private var bodyLimit = 0

    deinit {
        memory.deallocate()
    }

    /// Copies the request into the slot's memory. The pointers in `fields` hold until `clear`.
    func load(_ exchange: Exchange, now: Int64) {
        let request = exchange.request
        let authority = exchange.url.origin.authority
        let target = exchange.url.target
        var needed = 256 + request.method.utf8.count + authority.utf8.count + target.utf8.count + request.body.count
        needed += request.headers.byteCount
        if memory.count < needed {
            memory.deallocate()
            memory = .allocate(byteCount: needed, alignment: 16)
        }
        self.exchange = exchange
        submittedAt = now
        bodyLimit = Int(request.maxResponseBytes)
        var writer = HeaderWriter(memory: memory, fields: fields)
        fields = []
        writer.append(":method", request.method)
        writer.append(":scheme", exchange.url.origin.isSecure ? "https" : "http")
        writer.append(":authority", authority)
        writer.append(":path", target, indexed: false)
        var hasLength = request.body.isEmpty
        for field in request.headers where !HeaderWriter.isConnectionSpecific(field.name) {
            writer.append(field.name, field.value, indexed: !HeaderWriter.isUnrepeated(field.name))
            if field.name == "content-length" { hasLength = true }
        }
        if !hasLength { writer.append("content-length", String(request.body.count), indexed: false) }
        bodyStart = writer.used
        request.body.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: memory[writer.used...]).copyMemory(from: $0)
        }
        used = writer.used + request.body.count
        fields = writer.fields
    }

    /// Moves the next piece of the body to `destination`; true with the last one.
    func readBody(into destination: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        let start = bodyStart + bodySent
        let count = min(used - start, destination.count)
        destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[start..<start + count]))
        bodySent += count
        return (count, start + count == used)
    }

    /// Takes in a field of the answer; false when it holds too much.
    func received(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.first != UInt8(ascii: ":") else {
            // nghttp2 lets no pseudo-header but a well-formed `:status` through. A second one follows a 1xx answer.
            status = value.reduce(0) { $0 &* 10 &+ (Int($1) &- 0x30) }
            headers.removeAll()
            return true
        }
        headerBytes += name.count + value.count + 32
        guard headerBytes <= HTTP2Session.headerLimit else { return false }
        headers.append(name: name, value: value)
        return true
    }

    /// Takes in a piece of the answer's body; false when that is more than is wanted, and the answer thereby complete.
    func received(body piece: UnsafeBufferPointer<UInt8>) -> Bool {
        let room = bodyLimit - body.count
        body.append(contentsOf: UnsafeBufferPointer(rebasing: piece.prefix(room)))
        isAnswered = piece.count > room
        return !isAnswered
    }

    func clear() {
        exchange = nil
        streamID = 0
        status = 0
        headers.removeAll()
        headerBytes = 0
        body = []
        isAnswered = false
        wasReset = false
        wasNeverSent = false
        fields.removeAll(keepingCapacity: true)
        used = 0
        bodySent = 0
    }
}
