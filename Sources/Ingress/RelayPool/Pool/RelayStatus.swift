/// How it stands with one relay, for logs and tests.
package struct RelayStatus: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// Nobody needs it.
        case idle
        /// To be connected to at that moment, in milliseconds since 1970; or as soon as other connections are open.
        case waiting(until: Int64)
        case connecting
        case connected
    }

    package var url: RelayURL
    package var state: State
    /// Whether the configuration names it.
    package var isOperators: Bool
    /// Keys watched there.
    package var keys: Int
    /// Whether it is asked by kinds only, since the keys exceed what it allows.
    package var isAskedByKind: Bool
    /// REQs sent since the pool began.
    package var requestsSent: Int
    /// Why the last connection failed or ended, if it did.
    package var lastFailure: ConnectionFailure?
}
