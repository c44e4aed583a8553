/// The streams of one HTTP/2 connection: assembles requests, enforces the limit, and knows when a connection that
/// leaves is done.
///
/// Pure: takes frames by stream number and returns what to do.
struct HTTP2Streams {
    private enum Stream {
        case reading(LabRequest)
        case answering
    }

    enum Step {
        case nothing
        /// Above the limit: RST_STREAM with REFUSED_STREAM.
        case refuse
        /// Complete: decide what it gets.
        case decide(LabRequest)
    }

    /// The longest part of a body that is read, in bytes; far more than any push service accepts.
    static let bodyLimit = 32_768

    private var streams: [Int: Stream] = [:]
    private var lastAllowed = Int.max
    /// The highest stream whose request was complete.
    private(set) var lastDecided = 0
    /// `lastDecided` before the latest request.
    private(set) var lastDecidedBefore = 0
    /// SETTINGS_MAX_CONCURRENT_STREAMS as it was last sent.
    var limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// The connection leaves and owes no more answers.
    var isDone: Bool { lastAllowed != .max && streams.isEmpty }

    func isOpen(_ stream: Int) -> Bool { streams[stream] != nil }

    mutating func open(_ stream: Int, _ fields: [LabHeader], isComplete: Bool) -> Step {
        // Trailers: only the end matters.
        if streams[stream] != nil { return isComplete ? complete(stream) : .nothing }
        guard stream <= lastAllowed else { return .nothing }
        guard streams.count < limit else { return .refuse }
        let request = LabRequest(
            method: fields.first { $0.name == ":method" }?.value ?? "",
            uri: fields.first { $0.name == ":path" }?.value ?? "",
            headers: fields.filter { !$0.name.hasPrefix(":") },
            body: []
        )
        streams[stream] = .reading(request)
        return isComplete ? complete(stream) : .nothing
    }

    mutating func append(_ stream: Int, _ bytes: some Collection<UInt8>, isComplete: Bool) -> Step {
        guard case .reading(var request) = streams[stream] else { return .nothing }
        // Removes the second owner of the array, so that appending does not copy it.
        streams[stream] = .answering
        let room = Self.bodyLimit - request.body.count
        request.body.append(contentsOf: bytes.prefix(room))
        request.isCut = request.isCut || bytes.count > room
        streams[stream] = .reading(request)
        // The client's window ends before twice the limit.
        return isComplete || request.isCut ? complete(stream) : .nothing
    }

    /// The stream got its answer, was reset, or was closed by the client.
    mutating func close(_ stream: Int) {
        streams[stream] = nil
    }

    /// Ignores all streams above this one.
    mutating func leave(after stream: Int) {
        lastAllowed = min(lastAllowed, stream)
        streams = streams.filter { $0.key <= stream }
    }

    /// Ignores everything: the connection closes.
    mutating func leaveAtOnce() {
        lastAllowed = 0
        streams.removeAll()
    }

    private mutating func complete(_ stream: Int) -> Step {
        guard case .reading(let request) = streams[stream] else { return .nothing }
        streams[stream] = .answering
        lastDecidedBefore = lastDecided
        lastDecided = max(lastDecided, stream)
        return .decide(request)
    }
}
