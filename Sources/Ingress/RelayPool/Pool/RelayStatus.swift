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

    package let url: RelayURL
    package internal(set) var state = State.idle
    /// Whether the configuration names it.
    package internal(set) var isOperators = false
    /// Keys watched there.
    package internal(set) var keys = 0
    /// Whether it is asked by kinds only, since the keys exceed what it allows.
    package internal(set) var isAskedByKind = false
    /// REQs sent since the relay was first needed.
    package internal(set) var requestsSent = 0
    /// Why there is no connection, if there was one or one was tried.
    package internal(set) var lastFailure: ConnectionFailure?

    init(url: RelayURL) {
        self.url = url
    }
}
