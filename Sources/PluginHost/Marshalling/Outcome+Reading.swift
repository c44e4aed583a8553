import CarillonABI
import Notifications
import PluginProtocol
import Units

extension Outcome {
    private static var reasonLimit: Int { 40 }

    /// A copy of a plugin's outcome, and whether it is well-formed. A malformed one counts as a retry.
    static func reading(_ pointer: UnsafePointer<carillon_outcome>?) -> (outcome: Outcome, isWellFormed: Bool) {
        guard
            let pointer, let foreign = carillon_outcome(adopting: pointer),
            let kind = Outcome.Kind(rawValue: foreign.kind.rawValue)
        else { return (Outcome(.retry, reason: "misbehaved"), false) }
        let outcome = Outcome(
            kind,
            status: foreign.provider_status <= 999 ? foreign.provider_status : 0,
            retryAfter: kind == .retry ? .milliseconds(foreign.retry_after_ms) : .zero,
            reason: reason(foreign.reason) ?? kind.word,
            scope: kind == .retry ? Scope(rawValue: foreign.scope.rawValue) ?? .usual : .usual
        )
        return (outcome, true)
    }

    /// A word fit for a metric's label; nil when the plugin gave none.
    private static func reason(_ text: carillon_str) -> String? {
        guard text.len != 0 else { return nil }
        guard (1...reasonLimit).contains(text.len), let start = text.ptr else { return "other" }
        let bytes = UnsafeRawBufferPointer(start: start, count: text.len)
        guard bytes.allSatisfy({ PluginText.isWordByte($0) }) else { return "other" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Outcome.Kind {
    fileprivate var word: String {
        switch self {
        case .delivered: "delivered"
        case .gone: "gone"
        case .rejected: "rejected"
        case .retry: "retry"
        case .misconfigured: "misconfigured"
        }
    }
}
