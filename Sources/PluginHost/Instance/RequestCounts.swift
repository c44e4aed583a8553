import HTTPLanes

/// The HTTP requests of one instance so far.
package struct RequestCounts: Sendable, Hashable {
    package var begun: UInt64 = 0
    /// By why no answer arrived; all others that ended were answered.
    package var failures: [HTTPFailure.Reason: UInt64] = [:]
    package var answered: UInt64 = 0

    package init() {}

    package mutating func add(_ other: RequestCounts) {
        begun += other.begun
        answered += other.answered
        failures.merge(other.failures, uniquingKeysWith: +)
    }
}
