import Foundation

/// What goes back over a stream.
struct APNsAnswer {
    private struct Body: Encodable {
        var reason: String
        var timestamp: Int64?
    }

    var status: Int
    var reason: String?
    var headers: [LabHeader]
    var body: [UInt8]

    /// Success, or the refusal with its JSON.
    init(_ verdict: APNsVerdict) {
        if let refusal = verdict.refusal {
            self.init(
                status: refusal.reason.status,
                reason: refusal.reason.rawValue,
                timestamp: refusal.timestamp,
                id: verdict.id
            )
        } else {
            self.init(status: 200, reason: nil, timestamp: nil, id: verdict.id)
        }
    }

    /// `timestamp` in milliseconds since 1970.
    init(status: Int, reason: String?, timestamp: Int64?, id: String, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        headers = [LabHeader("apns-id", id)]
        if let retryAfter {
            headers.append(LabHeader("retry-after", String(retryAfter)))
        }
        body = reason.map { Self.reasonBody($0, timestamp: timestamp) } ?? []
    }

    /// What a proxy in front of the service might say.
    init(htmlWithStatus status: Int) {
        let page = HTTP2Answer(htmlWithStatus: status)
        self.status = page.status
        reason = nil
        headers = page.headers
        body = page.body
    }

    /// The JSON of an error; GOAWAY carries the same as debug data.
    static func reasonBody(_ reason: String, timestamp: Int64? = nil) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(Body(reason: reason, timestamp: timestamp))).map(Array.init) ?? []
    }
}
