package import CarillonABI

/// A push service's response, and the expected outcome.
package struct AnswerRow: Sendable, CustomStringConvertible {
    package var status: UInt32
    package var body: String
    package var headers: [String: String]
    package let kind: carillon_outcome_kind
    package let reason: String
    package let scope: carillon_scope
    package let retryAfter: UInt32

    package init(
        _ status: UInt32,
        body: String = "",
        headers: [String: String] = [:],
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT,
        retryAfter: UInt32 = 0
    ) {
        (self.status, self.body, self.headers) = (status, body, headers)
        (self.kind, self.reason, self.scope, self.retryAfter) = (kind, reason, scope, retryAfter)
    }

    /// A refusal in Apple's form.
    package static func apple(
        _ status: UInt32,
        _ word: String,
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> AnswerRow {
        AnswerRow(status, body: #"{"reason":"\#(word)"}"#, kind, reason, scope)
    }

    package var description: String { "\(status) \(body) \(headers)" }

    package func outcome(ticket: UInt64) -> RecordedOutcome {
        RecordedOutcome(
            ticket: ticket,
            kind: kind,
            status: status,
            retryAfter: retryAfter,
            reason: reason,
            scope: scope
        )
    }
}
