import CarillonABI
import PluginTestSupport
import Testing

/// What a push service answers, and what has to follow from it.
struct AnswerRow: Sendable, CustomTestStringConvertible {
    var status: UInt32
    var body = ""
    var headers: [String: String] = [:]
    let kind: carillon_outcome_kind
    let reason: String
    var scope = carillon_scope.CARILLON_SCOPE_DEFAULT
    var retryAfter: UInt32 = 0

    init(
        _ status: UInt32,
        body: String = "",
        headers: [String: String] = [:],
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT,
        retryAfter: UInt32 = 0
    ) {
        self.status = status
        self.body = body
        self.headers = headers
        self.kind = kind
        self.reason = reason
        self.scope = scope
        self.retryAfter = retryAfter
    }

    var testDescription: String { "\(status) \(body) \(headers)" }

    func outcome(ticket: UInt64) -> RecordedOutcome {
        RecordedOutcome(
            ticket: ticket,
            kind: kind,
            status: status,
            retryAfter: retryAfter,
            reason: reason,
            scope: scope
        )
    }

    static func apple(
        _ status: UInt32,
        _ word: String,
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> AnswerRow {
        AnswerRow(status, body: #"{"reason":"\#(word)"}"#, kind, reason, scope)
    }

    static func mozilla(
        _ status: UInt32,
        _ errno: Int,
        message: String = "",
        headers: [String: String] = [:],
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT,
        retryAfter: UInt32 = 0
    ) -> AnswerRow {
        let body = #"{"code":\#(status),"errno":\#(errno),"error":"…","message":"\#(message)","more_info":"…"}"#
        return AnswerRow(status, body: body, headers: headers, kind, reason, scope, retryAfter: retryAfter)
    }

    static func windows(
        _ status: UInt32,
        word: String? = nil,
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> AnswerRow {
        AnswerRow(status, headers: word.map { ["x-wns-notificationstatus": $0] } ?? [:], kind, reason, scope)
    }
}
