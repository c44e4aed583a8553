import Foundation

/// One request that reached a push service of the lab, with the answer it got.
///
/// It is recorded at the moment the answer is decided, before the answer is sent: requests that are never answered,
/// or much later, are recorded as well.
public struct ReceivedRequest: Sendable, Hashable {
    /// Counts from 1 over all services, in the order in which requests were decided.
    public internal(set) var sequence = 0
    /// Who decided about it: on FCM's connections also `oauth`, for requests to the token endpoint.
    public var service: LabService
    /// Milliseconds since 1970.
    public var receivedAt: Int64
    /// Counts the connections of the lab from 1; two requests with the same number came over the same connection.
    public var connection: Int
    /// As the client wrote it, also where the service refuses the method.
    public var method: String
    /// As the client wrote it, with its query.
    public var path: String
    /// The device token (in lower case) or the topic; empty where the path named none.
    public var target: String
    /// The status answered; nil for a request that gets no answer.
    public var status: Int?
    /// The reason given beside a status that is not a success, in the service's own words.
    public var reason: String?
    /// What exactly was wrong, in a sentence for people. Real services do not say it.
    public var detail: String?
    /// The misbehaviour that replaced the answer this request had earned.
    public var misbehaviour: Misbehaviour.Conduct?
    /// In the order in which they came, without HTTP/2's pseudo headers and without trailers.
    public var headers: [LabHeader]
    /// As it came, still encrypted where it was; cut at 32,768 bytes over HTTP/2 and at 1 MiB over HTTP/1.1.
    public var body: [UInt8]
    /// The clear text of a Web Push message whose receiver's keys the lab knows.
    public var decrypted: [UInt8]?

    /// What ntfy or Gotify make of it and show to their subscribers.
    public var message: JSONValue?
    /// How many requests with the same `apns-id` came before it.
    public var repeats = 0

    /// Makes a record up, for tests of what reads records: its `sequence` stays 0, since only a lab counts.
    public init(
        service: LabService,
        receivedAt: Int64,
        connection: Int,
        method: String,
        path: String,
        target: String,
        status: Int?,
        reason: String? = nil,
        detail: String? = nil,
        misbehaviour: Misbehaviour.Conduct? = nil,
        headers: [LabHeader],
        body: [UInt8],
        decrypted: [UInt8]? = nil
    ) {
        self.service = service
        self.receivedAt = receivedAt
        self.connection = connection
        self.method = method
        self.path = path
        self.target = target
        self.status = status
        self.reason = reason
        self.detail = detail
        self.misbehaviour = misbehaviour
        self.headers = headers
        self.body = body
        self.decrypted = decrypted
    }

    /// Records a request and its answer; `conduct` is the misbehaviour that happens to it.
    init(
        _ request: LabRequest,
        to service: LabService,
        target: String,
        at now: Int64,
        _ answer: HTTPAnswer,
        reason: String?,
        detail: String?,
        _ conduct: Misbehaviour.Conduct?
    ) {
        self.init(
            service: service,
            receivedAt: now,
            connection: request.connection,
            method: request.method,
            path: request.uri,
            target: target,
            status: conduct?.sendsNoAnswer == true ? nil : answer.status,
            reason: reason,
            detail: detail,
            misbehaviour: conduct,
            headers: request.headers,
            body: request.body
        )
    }

    /// True for a request answered with a status from 200 to 299.
    public var isAccepted: Bool {
        guard let status else { return false }
        return (200..<300).contains(status)
    }

    /// True where the service has the push, whatever its client heard of it: a device would show it.
    public var isTaken: Bool {
        guard let misbehaviour else { return isAccepted }
        return misbehaviour.sendsNoAnswer ? !misbehaviour.disownsRequest : isAccepted
    }

    /// The body, or its clear text where it was decrypted, read as JSON; nil where it is not JSON.
    public var payload: JSONValue? {
        JSONValue(parsing: decrypted ?? body)
    }

    /// The value of the first header of this name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name.lowercased() }?.value
    }

    /// Roughly what keeping this request costs, in bytes.
    var footprint: Int {
        256 + body.count + (decrypted?.count ?? 0) + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }

    /// A few lines for people: what came, what it got, and the payload indented.
    public var readable: String {
        let time = Date(timeIntervalSince1970: Double(receivedAt) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        var words = [time, service.rawValue, status.map(String.init) ?? "no answer"]
        words += [reason, misbehaviour.map { "(\($0.kind))" }].compactMap { $0 }
        words += [method, target.isEmpty ? path : "…" + target.suffix(8)]
        words += ["apns-push-type", "apns-priority", "apns-topic", "content-encoding", "ttl", "urgency"].compactMap {
            name in
            header(name).map { "\(name)=\($0)" }
        }
        var lines = [words.joined(separator: " ")]
        if let detail {
            lines.append("  \(detail)")
        }
        lines += content.split(separator: "\n").map { "    \($0)" }
        return lines.joined(separator: "\n")
    }

    private var content: String {
        if let payload { return payload.prettyPrinted }
        let bytes = decrypted ?? body
        return String(validating: bytes, as: UTF8.self) ?? "(\(bytes.count) bytes that are no text)"
    }
}

extension ReceivedRequest: Encodable {
    private enum CodingKeys: String, CodingKey {
        case sequence
        case service
        case receivedAt = "received_at"
        case connection
        case method
        case path
        case target
        case status
        case reason
        case detail
        case misbehaviour
        case isTaken = "taken"
        case repeats
        case message
        case headers
        case payload
        case body
        case bodyBase64 = "body_base64"
        case decrypted
        case decryptedBase64 = "decrypted_base64"
    }

    /// As one JSON object: `payload` where the content is JSON, `body` where the body is text and `body_base64` where it is not.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(service, forKey: .service)
        try container.encode(receivedAt, forKey: .receivedAt)
        try container.encode(connection, forKey: .connection)
        try container.encode(method, forKey: .method)
        try container.encode(path, forKey: .path)
        try container.encode(target, forKey: .target)
        try container.encode(status, forKey: .status)
        try container.encodeIfPresent(reason, forKey: .reason)
        try container.encodeIfPresent(detail, forKey: .detail)
        try container.encodeIfPresent(misbehaviour?.kind, forKey: .misbehaviour)
        try container.encode(isTaken, forKey: .isTaken)
        try container.encodeIfPresent(message, forKey: .message)
        try container.encodeIfPresent(repeats > 0 ? repeats : nil, forKey: .repeats)
        try container.encode(headers.map { [$0.name, $0.value] }, forKey: .headers)
        try container.encodeIfPresent(payload, forKey: .payload)
        if let text = String(validating: body, as: UTF8.self) {
            try container.encode(text, forKey: .body)
        } else {
            try container.encode(Data(body).base64EncodedString(), forKey: .bodyBase64)
        }
        guard let decrypted else { return }
        if let text = String(validating: decrypted, as: UTF8.self) {
            try container.encode(text, forKey: .decrypted)
        } else {
            try container.encode(Data(decrypted).base64EncodedString(), forKey: .decryptedBase64)
        }
    }

    /// One line of JSON with sorted keys and no line break.
    public func jsonLine() -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

/// A push service that the lab plays.
public enum LabService: String, Sendable, Hashable, Codable, CaseIterable {
    /// Apple's push service, HTTP/2 over TLS.
    case apns
    /// Its twin for development builds.
    case apnsSandbox = "apns_sandbox"
    /// Apple's management of broadcast channels, HTTP/2 over TLS.
    case apnsChannels = "apns_channels"
    /// Firebase Cloud Messaging, HTTP/2 over TLS.
    case fcm
    /// Google's token endpoint, beside ``fcm``.
    case oauth
    /// A UnifiedPush push server in the manner of ntfy, HTTP/1.1.
    case unifiedPush = "unifiedpush"
    /// A browser's push service in the manner of one of several vendors, HTTP/1.1 over TLS.
    case webPush = "webpush"
    /// An ntfy server, HTTP/1.1.
    case ntfy
    /// A Gotify server, HTTP/1.1.
    case gotify
}

/// A header field as it came, its name in lower case.
public struct LabHeader: Sendable, Hashable {
    /// In lower case where the lab received it; in an ordered answer any case will do, and goes out in lower case.
    public var name: String
    /// Of one field line: neither split nor combined with others of the name (RFC 9110, section 5.2).
    public var value: String

    /// Takes both as they are; only headers ordered in JSON or on the command line are checked for line breaks.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
