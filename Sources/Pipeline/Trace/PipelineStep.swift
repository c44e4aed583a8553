/// Why an event went no further, or that it did: one word each, fit for a metric's label.
package enum PipelineStep: String, Sendable, CaseIterable {
    /// No event: not JSON, or a field is not what NIP-01 says.
    case malformed
    /// The id or the signature is wrong.
    case forged
    /// Accepted before; for a registration also that a newer one was.
    case duplicate
    /// Concerns no registered account.
    case unaddressed
    /// Its NIP-40 expiration has passed.
    case expired
    /// The recipient wrote it.
    case own
    /// Names the recipient, but is about somebody else's event (NIP-25).
    case notTarget = "not-target"
    /// A zap receipt that cannot be believed (NIP-57).
    case invalidZap = "invalid-zap"
    /// A contact list that named the recipient before.
    case knownFollow = "known-follow"
    /// No rule is for it.
    case unmatched
    /// A rule drops it.
    case dropped
    /// The device's filters switch its signal off.
    case unwanted
    /// A delivery was kept for a device.
    case queued
    /// A registration changed something.
    case registered
    /// A registration changed nothing.
    case registrationRefused = "registration-refused"
    /// It could not be kept: the disk refused.
    case notKept = "not-kept"
}
