import Nostr

/// Who holds the NIP-46 sessions of clients with this router. Called on the pipeline's thread; must not block for long.
package protocol RemoteSigner: Sendable {
    /// Takes a request (kind 24133) to the router's key, whose signature was verified. Its content is encrypted still,
    /// and its answer goes back to `source`.
    ///
    /// `register` takes the registration (kind 10062 or 30062) that such a request carries: it verifies it and answers when
    /// it is kept, or refused. To be called before this returns, if at all.
    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventVerdict.Result)

    /// Whether a verified registration that came as an event may be taken: not where registering takes a session and the
    /// author has none. Is not asked about deregistrations.
    func admits(_ registration: Event) -> Bool
}
