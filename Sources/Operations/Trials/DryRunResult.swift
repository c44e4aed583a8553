import HTTPLanes
import Notifications

/// What a delivery would have come to.
package struct DryRunResult: Sendable {
    /// A form of the notification that its transport did not take.
    package struct Reduction: Sendable, Hashable {
        package var mode: Mode
        /// The outcome's word, such as `payload-too-large`.
        package var reason: String
    }

    /// The mode that went out in the end.
    package var mode: Mode
    /// What was tried before, in order.
    package var reductions: [Reduction]
    /// What the push service would have got; nil when the transport sends nothing.
    package var request: HTTPRequest?
    /// The outcome's word, for when there is no request.
    package var reason: String
    /// The body as the device reads it, when it was encrypted to the device.
    package var decrypted: [UInt8]?
}
