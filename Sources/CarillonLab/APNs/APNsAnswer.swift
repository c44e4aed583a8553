import Foundation

/// An answer of APNs, and its reason.
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
            verdict
        )
    }

    /// `timestamp` in milliseconds since 1970.
    private init(status: Int, reason: String?, timestamp: Int64?, _ verdict: APNsVerdict) {
        self.reason = reason
        http = HTTPAnswer(
            status: status,
            headers: [LabHeader("apns-id", verdict.id)],
            body: reason.map { Self.reasonBody($0, timestamp: timestamp) } ?? []
        )
        if let requestID = verdict.requestID {
            http.headers.append(LabHeader("apns-request-id", requestID))
        }
    }

    /// Replaces the answer as a misbehaviour orders. `now` is in milliseconds since 1970.
    mutating func misbehave(_ conduct: Misbehaviour.Conduct?, _ verdict: APNsVerdict, now: Int64) {
        switch conduct {
        case .answer(let ordered):
            let status = ordered.status
            if status < 200 || status > 299 || ordered.reason != nil {
                let usual = APNsReason.usual(for: status) ?? .internalServerError
                self = APNsAnswer(
                    status: status,
                    reason: ordered.reason ?? usual.rawValue,
                    timestamp: status == 410 ? ordered.timestamp ?? now : nil,
                    verdict
                )
            }
            http.apply(ordered)
        case .html(let status):
            http = HTTPAnswer(htmlWithStatus: status)
            reason = nil
        default: break
        }
    }

    /// The debug data of a GOAWAY; none where it is empty.
    static func farewell(_ conduct: Misbehaviour.Conduct?) -> [UInt8] {
        guard case .goAway(_, let reason?, code: _) = conduct else { return [] }
        return reasonBody(reason)
    }

    /// The JSON of an error, also the debug data of GOAWAY.
    private static func reasonBody(_ reason: String, timestamp: Int64? = nil) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(Body(reason: reason, timestamp: timestamp))).map(Array.init) ?? []
    }
}
