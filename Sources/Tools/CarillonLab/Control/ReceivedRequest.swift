import Foundation

/// A request to a push service of the lab, with its response.
///
/// It is recorded when the response is decided, before it is sent. So the record includes requests with a late response
/// or none.
public struct ReceivedRequest: Sendable, Hashable {
    /// The number of the request, from 1, over all services, in the order of decisions.
    public internal(set) var sequence = 0
    /// The service that decided; `oauth` for requests to the token endpoint on FCM's connections.
    public var service: LabService
    /// Milliseconds since 1970.
    public var receivedAt: Int64
    /// The number of the connection, from 1.
    public var connection: Int
    /// The method, even if the service refuses it.
    public var method: String
    /// Unchanged from the client, including the query.
    public var path: String
    /// The device token (in lower case) or the topic; empty if the path names none.
    public var target: String
    /// The status of the response; nil for a request without one.
    public var status: Int?
    /// The reason of a refusal in the service's own format.
    public var reason: String?
    /// The exact error in a readable sentence. Real services do not return it.
    public var detail: String?
    /// The misbehaviour that replaced the regular response.
    public var misbehaviour: ScriptedBehavior.Action?
    /// In the order of arrival, without HTTP/2's pseudo headers and trailers.
    public var headers: [LabHeader]
    /// The body as received, cut at 32,768 bytes over HTTP/2 and at 1 MiB over HTTP/1.1.
    public var body: [UInt8]
    /// The plaintext of a Web Push message to a receiver whose keys the lab has.
    public var decrypted: [UInt8]?

    /// The message that ntfy or Gotify shows to its subscribers.
    public var message: JSONValue?
    /// How many earlier requests had the same `apns-id`.
    public var repeats = 0

    /// Whether the response had a status from 200 to 299.
    public var isAccepted: Bool {
        guard let status else { return false }
        return (200..<300).contains(status)
    }

    /// Whether the service accepted the push, even if its client does not know: a device would show it.
    public var isTaken: Bool {
        guard let misbehaviour else { return isAccepted }
        return misbehaviour.sendsNoAnswer ? !misbehaviour.disownsRequest : isAccepted
    }

    /// The body, or its plaintext if it was decrypted, as JSON; nil if it is not JSON.
    public var payload: JSONValue? {
        JSONValue(parsing: decrypted ?? body)
    }

    /// The value of the first header of this name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name.lowercased() }?.value
    }

    /// Its approximate size in memory, in bytes.
    var footprint: Int {
        256 + body.count + (decrypted?.count ?? 0) + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }

    /// A few readable lines: the request, its response, and the indented payload.
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
        return String(validating: bytes, as: UTF8.self) ?? "(\(bytes.count) bytes that are not UTF-8)"
    }
}

extension ReceivedRequest {
    /// Makes the record of a request and its reply. `misbehaviour` is the one that applied to it.
    init(
        _ request: LabRequest,
        to service: LabService,
        target: String,
        at now: Int64,
        _ reply: LabReply,
        _ misbehaviour: ScriptedBehavior.Action?
    ) {
        self.service = service
        receivedAt = now
        connection = request.connection
        method = request.method
        path = request.uri
        self.target = target
        status = misbehaviour?.sendsNoAnswer == true ? nil : reply.answer.status
        reason = reply.reason
        detail = reply.detail
        self.misbehaviour = misbehaviour
        headers = request.headers
        body = request.body
        decrypted = reply.decrypted
        message = reply.message
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

    /// Writes one JSON object: `payload` if the content is JSON, and `body` for text or `body_base64` for other bytes.
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
        jsonText() ?? "{}"
    }
}

/// A push service of the lab.
public enum LabService: String, Sendable, Hashable, Codable, CaseIterable {
    /// Apple's push service, HTTP/2 over TLS.
    case apns
    /// The sandbox for development builds.
    case apnsSandbox = "apns_sandbox"
    /// Apple's management of broadcast channels, HTTP/2 over TLS.
    case apnsChannels = "apns_channels"
    /// Firebase Cloud Messaging, HTTP/2 over TLS.
    case fcm
    /// Google's token endpoint, on the port of ``fcm``.
    case oauth
    /// A UnifiedPush server like ntfy, HTTP/1.1.
    case unifiedPush = "unifiedpush"
    /// The push services of several browsers, HTTP/1.1 over TLS.
    case webPush = "webpush"
    /// An ntfy server, HTTP/1.1.
    case ntfy
    /// A Gotify server, HTTP/1.1.
    case gotify
    /// Any other service; it accepts everything, HTTP/1.1. Its target is the host in `x-forwarded-host`.
    case other

    /// Whether it is one of Apple's servers.
    var isAPNs: Bool { self == .apns || self == .apnsSandbox || self == .apnsChannels }
}

/// A header field.
public struct LabHeader: Sendable, Hashable {
    /// In lower case in received requests. Ordered answers may use any case and are sent in lower case.
    public var name: String
    /// The value of one field line, neither split nor combined with others (RFC 9110, section 5.2).
    public var value: String

    /// Makes a header without a check. Only headers ordered in JSON or on the command line are checked for line breaks.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
