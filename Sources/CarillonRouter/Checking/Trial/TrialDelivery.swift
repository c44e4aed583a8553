import HTTPLanes

/// What one platform's push service would get in a trial.
package struct TrialDelivery: Sendable {
    package let platform: String
    /// Whether the platform's block has keys that were made up.
    package let hasThrowAwayKeys: Bool
    /// The rule's keys for which the event gives no fitting value.
    package let leftOut: [String]
    /// What the plugin made of it, or what it says against its block or the device.
    package var outcome: Result<DryRunResult, TrialFailure>
    /// What the device finds in the envelope inside of the body, as JSON; nil when there is none.
    package var unsealed: [UInt8]?

    /// Nil when nothing would go out.
    package var request: HTTPRequest? {
        if case .success(let result) = outcome { return result.request }
        return nil
    }
}
