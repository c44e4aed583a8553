import Nostr

/// Why an event that names an account does not concern it.
package enum NoConcern: Error, Sendable, Hashable, CustomStringConvertible {
    /// It names the account in passing and is about somebody else's event.
    case notTarget
    /// The recipient of the zap sent it.
    case ownZap
    case invalidZap(ZapReceiptError)

    var step: PipelineStep {
        switch self {
        case .notTarget: .notTarget
        case .ownZap: .own
        case .invalidZap: .invalidZap
        }
    }

    package var description: String {
        switch self {
        case .notTarget: "it is about somebody else's event"
        case .ownZap: "the recipient sent the zap"
        case .invalidZap(let error): "\(error)"
        }
    }
}
