import Nostr

/// Who asks relays for what notifications speak of.
package protocol ContextFetcher: Sendable {
    /// Asks for the profiles (kind 0) of those authors and for those events, and returns at once. What is found goes into
    /// the intake as ``RelayReading/fetched``. Calls `completion` once, on any thread, after the last of it is there, or
    /// when there is nothing more to hope for.
    func fetch(profiles: Set<PublicKey>, events: Set<EventID>, completion: @escaping @Sendable () -> Void)
}
