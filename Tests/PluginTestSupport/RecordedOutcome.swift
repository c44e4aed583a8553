package import CarillonABI

/// An outcome that a transport completed a ticket with, copied.
package struct RecordedOutcome: Sendable, Hashable {
    package let ticket: UInt64
    package let kind: carillon_outcome_kind
    package let status: UInt32
    package let retryAfter: UInt32
    package let reason: String
    package let scope: carillon_scope

    package init(
        ticket: UInt64,
        kind: carillon_outcome_kind,
        status: UInt32 = 0,
        retryAfter: UInt32 = 0,
        reason: String,
        scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) {
        self.ticket = ticket
        self.kind = kind
        self.status = status
        self.retryAfter = retryAfter
        self.reason = reason
        self.scope = scope
    }
}
