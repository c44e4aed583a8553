import Cipher
import Nostr
import Notifications

/// Names traces and spans after events and deliveries, so that nothing needs to be remembered for it.
///
/// Keyed, so that whoever runs the collector cannot tell from it which event it was.
package struct TraceIDs: Sendable {
    private let key: [UInt8]
    /// A trace whose number is below is exported.
    private let threshold: UInt64

    /// `seed` is the router's, and made for this.
    package init(seed: [UInt8], sample: Double) throws {
        key = try HKDFSHA256.expand(pseudoRandomKey: seed, info: [], length: 32)
        threshold = sample >= 1 ? .max : UInt64(max(0, sample) * Double(UInt64.max))
    }

    /// The trace of an event; nil: its spans are not exported.
    package func context(of event: EventID) -> TraceContext? {
        let code = HMACSHA256.authenticationCode(for: event.array, key: key)
        let number = code[24..<32].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number < threshold || threshold == .max else { return nil }
        return TraceContext(trace: Hex.encode(Array(code[..<16])), root: Hex.encode(Array(code[16..<24])))
    }

    /// The trace id of an event for people, 32 hex digits; nil: its spans are not exported.
    @Sendable package func traceID(of event: EventID) -> String? { context(of: event)?.trace }

    /// The span of a delivery, or of its attempt of that number.
    func span(of delivery: DeliveryID, attempt: Int? = nil) -> String {
        let text = attempt.map { "\(delivery)/\($0)" } ?? delivery.description
        return Hex.encode(Array(HMACSHA256.authenticationCode(for: Array(text.utf8), key: key).prefix(8)))
    }
}

/// What the spans of one event have in common.
package struct TraceContext: Sendable, Hashable {
    /// 32 hex digits.
    package let trace: String
    /// The span of the event itself, 16 hex digits.
    package let root: String
}
