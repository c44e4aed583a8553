import Foundation

/// What goes back over a stream, and the reason in it.
struct APNsAnswer {
    private struct Body: Encodable {
        var reason: String
        var timestamp: Int64?
    }

    var http: HTTPAnswer
    var reason: String?

    /// Success, or the refusal with its JSON.
    init(_ verdict: APNsVerdict) {
        self.init(
            status: verdict.refusal?.reason.status ?? 200,
            reason: verdict.refusal?.reason.rawValue,
            timestamp: verdict.refusal?.timestamp,
            id: verdict.id
        )
    }

    /// What was ordered; `now` in milliseconds since 1970.
    init(_ ordered: OrderedAnswer, id: String, now: Int64) {
        let status = ordered.status
        let isGood = (200..<300).contains(status)
        self.init(
            status: status,
            reason: ordered.reason
                ?? (isGood ? nil : APNsReason.usual(for: status)?.rawValue ?? APNsReason.internalServerError.rawValue),
            timestamp: status == 410 ? ordered.timestamp ?? now : nil,
            id: id
        )
        http.apply(ordered)
    }

    /// What a proxy in front of the service might say.
    init(htmlWithStatus status: Int) {
        http = HTTPAnswer(htmlWithStatus: status)
    }

    /// `timestamp` in milliseconds since 1970.
    private init(status: Int, reason: String?, timestamp: Int64?, id: String) {
        self.reason = reason
        http = HTTPAnswer(
            status: status,
            headers: [LabHeader("apns-id", id)],
            body: reason.map { Self.reasonBody($0, timestamp: timestamp) } ?? []
        )
    }

    /// The JSON of an error; GOAWAY carries the same as debug data.
    static func reasonBody(_ reason: String, timestamp: Int64? = nil) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(Body(reason: reason, timestamp: timestamp))).map(Array.init) ?? []
    }
}
