import CarillonABI

/// One outcome as a plugin gave it.
struct Ending: Sendable {
    /// Nil when it is none that the ABI knows.
    var kind: carillon_outcome_kind?
    var retryAfter: UInt32 = 0
    /// What is wrong with the outcome's form; empty when nothing is.
    var flaw = ""

    init(reading pointer: UnsafePointer<carillon_outcome>?) {
        guard let pointer else {
            flaw = "the outcome is NULL"
            return
        }
        guard let outcome = carillon_outcome(adopting: pointer) else {
            flaw = "the outcome's struct_size is implausible: set it to sizeof(carillon_outcome)"
            return
        }
        retryAfter = outcome.retry_after_ms
        guard (0...4).contains(outcome.kind.rawValue) else {
            flaw = "the outcome's kind is \(outcome.kind.rawValue), which is none of carillon_outcome_kind"
            return
        }
        kind = outcome.kind
        guard let reason = PluginText.string(outcome.reason, limit: 40), reason.utf8.allSatisfy(PluginText.isWordByte)
        else {
            flaw = "the outcome's reason must be at most 40 of a-z, 0-9 and \"-\", or empty"
            return
        }
        if outcome.provider_status > 999 { flaw = "the outcome's provider_status is no HTTP status" }
        if !(0...3).contains(outcome.scope.rawValue) {
            flaw = "the outcome's scope is \(outcome.scope.rawValue), which is none of carillon_scope"
        }
    }
}

extension carillon_outcome_kind {
    /// As the header calls it.
    var name: String {
        switch self {
        case .CARILLON_DELIVERED: "CARILLON_DELIVERED"
        case .CARILLON_GONE: "CARILLON_GONE"
        case .CARILLON_REJECTED: "CARILLON_REJECTED"
        case .CARILLON_RETRY: "CARILLON_RETRY"
        case .CARILLON_MISCONFIGURED: "CARILLON_MISCONFIGURED"
        @unknown default: "unknown"
        }
    }
}
