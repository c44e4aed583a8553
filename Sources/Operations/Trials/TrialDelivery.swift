import HTTPLanes

/// What one platform's push service would get in a trial.
package struct TrialDelivery: Sendable {
    package enum Outcome: Sendable {
        /// What the plugin made of it.
        case made(DryRunResult)
        /// What the plugin says against its block or the device.
        case failed(TrialFailure)
        /// Nothing is meant to go out, with the reason.
        case spared(String)
    }

    package let platform: String
    /// Whether the platform's block has keys that were made up.
    package let hasThrowAwayKeys: Bool
    /// The rule's keys for which the event gives no fitting value.
    package let leftOut: [String]
    package var outcome: Outcome
    /// What the device finds in the envelope inside of the body, as JSON; nil when there is none.
    package var unsealed: [UInt8]?
    /// The rule that decided, where it is another one than for the platforms before.
    package var ruleName: String?

    /// Nil when nothing would go out.
    package var request: HTTPRequest? {
        if case .made(let result) = outcome { return result.request }
        return nil
    }

    /// Whether something should go out and does not.
    var isFailure: Bool {
        if case .spared = outcome { return false }
        return request == nil
    }
}
