import Foundation

/// A message from server to client (NATS client protocol).
enum ServerMessage: Sendable {
    case info(ServerInfo)
    case message(NATSMessage, subscription: Int)
    case ping
    case pong
    case ok
    case error(String)
}

/// A message that was received for a subscription.
struct NATSMessage: Sendable {
    let subject: String
    /// The subject for the response.
    let replyTo: String?
    let headers: NATSHeaders
    let payload: [UInt8]
}

/// The server's description of itself, sent on connection and whenever it changes.
struct ServerInfo: Decodable, Sendable {
    let name: String?
    /// Such as `2.15.1`.
    let version: String
    /// The longest payload with headers, in bytes.
    let maxPayload: Int
    let headers: Bool?
    /// The nonce that clients with a key must sign.
    let nonce: String?
    let tlsRequired: Bool?
    let tlsAvailable: Bool?
    /// Other servers of its cluster, as `host:port`.
    let connectURLs: [String]?
    /// Whether it is about to stop: clients should connect elsewhere.
    let lameDuckMode: Bool?

    private enum CodingKeys: String, CodingKey {
        case name = "server_name"
        case version
        case maxPayload = "max_payload"
        case headers
        case nonce
        case tlsRequired = "tls_required"
        case tlsAvailable = "tls_available"
        case connectURLs = "connect_urls"
        case lameDuckMode = "ldm"
    }

    /// Whether the version is at least `major.minor`.
    func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        let parts = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
        guard parts.count == 2 else { return false }
        return (parts[0], parts[1]) >= (major, minor)
    }
}

/// Parses a server's byte stream into messages. The server's advertised payload limit bounds memory.
struct MessageParser: Sendable {
    private struct Announced {
        let subject: String
        let subscription: Int
        let replyTo: String?
        let headerCount: Int
        let byteCount: Int
    }

    /// The maximum length of a line: longer than any greeting of a large cluster.
    private static let longestLine = 1 << 20
    /// The upper limit of a payload, even if the server advertises more.
    private static let longestPayload = 64 << 20
    private static let lineFeed = UInt8(ascii: "\n")

    private var bytes: [UInt8] = []
    /// The end of the parsed bytes.
    private var start = 0
    /// The position up to which no line end was found.
    private var scanned = 0
    private var announced: Announced?

    mutating func append(_ more: some Sequence<UInt8>) {
        if start > 64 << 10 || start == bytes.count {
            bytes.removeFirst(start)
            scanned -= start
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Takes the next message; nil: it is incomplete.
    mutating func next() throws(NATSError) -> ServerMessage? {
        while true {
            if let announced { return try payload(of: announced) }
            guard let line = try line() else { return nil }
            if let message = try message(line) { return message }
        }
    }

    private mutating func line() throws(NATSError) -> Substring? {
        guard let end = bytes[max(scanned, start)...].firstIndex(of: Self.lineFeed) else {
            scanned = bytes.count
            guard bytes.count - start <= Self.longestLine else { throw .protocolViolation("a line without end") }
            return nil
        }
        defer { (start, scanned) = (end + 1, end + 1) }
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        return text.hasSuffix("\r") ? text.dropLast() : text[...]
    }

    /// Parses a line. Returns nil if a payload follows.
    private mutating func message(_ line: Substring) throws(NATSError) -> ServerMessage? {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
        switch words.first?.uppercased() {
        case "MSG": announced = try Self.announcement(words.dropFirst(), hasHeaders: false)
        case "HMSG": announced = try Self.announcement(words.dropFirst(), hasHeaders: true)
        case "INFO": return .info(try Self.info(line.dropFirst(4)))
        case "PING": return .ping
        case "PONG": return .pong
        case "+OK": return .ok
        case "-ERR": return .error(line.dropFirst(4).trimmingCharacters(in: CharacterSet(charactersIn: " '")))
        default: throw .protocolViolation("an unknown message")
        }
        return nil
    }

    private static func announcement(
        _ words: ArraySlice<Substring>,
        hasHeaders: Bool
    ) throws(NATSError) -> Announced {
        let words = Array(words)
        // The fields: subject, subscription, optional reply subject, and one or two byte counts.
        let counts = hasHeaders ? 2 : 1
        let hasReply = words.count == 3 + counts
        guard hasReply || words.count == 2 + counts, let subscription = Int(words[1]),
            let byteCount = words.last.flatMap({ Int($0) }), (0...longestPayload).contains(byteCount),
            let headerCount = hasHeaders ? Int(words[words.count - 2]) : 0, (0...byteCount).contains(headerCount)
        else { throw .protocolViolation("a message that is announced in another way than expected") }
        return Announced(
            subject: String(words[0]),
            subscription: subscription,
            replyTo: hasReply ? String(words[2]) : nil,
            headerCount: headerCount,
            byteCount: byteCount
        )
    }

    private static func info(_ text: Substring) throws(NATSError) -> ServerInfo {
        do {
            return try JSONDecoder().decode(ServerInfo.self, from: Data(text.utf8))
        } catch {
            throw .protocolViolation("a greeting that is not understood")
        }
    }

    private mutating func payload(of announced: Announced) throws(NATSError) -> ServerMessage? {
        let end = start + announced.byteCount
        guard bytes.count >= end + 2 else { return nil }
        guard bytes[end] == UInt8(ascii: "\r"), bytes[end + 1] == Self.lineFeed else {
            throw .protocolViolation("a payload of another length than announced")
        }
        let body = start + announced.headerCount
        let headers: NATSHeaders =
            announced.headerCount > 0 ? try NATSHeaders(reading: bytes[start..<body]) : [:]
        let message = NATSMessage(
            subject: announced.subject,
            replyTo: announced.replyTo,
            headers: headers,
            payload: Array(bytes[body..<end])
        )
        self.announced = nil
        (start, scanned) = (end + 2, end + 2)
        return .message(message, subscription: announced.subscription)
    }
}
