import HTTPLanes
import Logging
import NIOCore
import Nostr

/// Connections to relays, one a relay however many keys are watched there.
///
///     let pool = try RelayPool(configuration: .init(), identity: keys, group: group, http: lanes, delegate: …, …)
///     pool.update(relay, [.put(watched)], isOperators: false)
///     await pool.shutdown()  // before the group's
package final class RelayPool: Sendable {
    /// Connects to nothing yet.
    ///
    /// `identity` answers challenges (NIP-42). `http` fetches information documents (NIP-11) and must outlive the pool, as must
    /// `group`. `mark` says, in seconds since 1970, up to when everything that a relay had was dealt with before; it is asked on
    /// event loops and must not block. `now` is in milliseconds since 1970, `jitter` from 0 to 1.
    /// Throws when the roots or a block of addresses of the configuration cannot be used.
    package init(
        configuration: Configuration,
        identity: KeyPair,
        group: any EventLoopGroup,
        http: any HTTPSender,
        delegate: any RelayPoolDelegate,
        mark: @escaping @Sendable (RelayURL) -> Int64?,
        now: @escaping @Sendable () -> Int64,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        logger: Logger
    ) throws {
    }

    /// Watches keys at `relay` and stops watching them. A relay at which no key is watched is left after a while, unless it is kept.
    ///
    /// `isOperators` says that the configuration names the relay, so that it may be at a private address.
    package func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool) {
    }

    /// Stays connected to these relays, which the configuration names, and to no others on that account.
    package func keep(_ relays: [RelayURL]) {
    }

    /// Publishes `event` at each of `relays`, once connected and, where asked, authenticated (NIP-42). Calls `completion` once, with a
    /// result for each relay, within ``ConnectionLimits/publishing``.
    package func publish(
        _ event: Event,
        to relays: [RelayURL],
        completion: (@Sendable ([RelayURL: PublishResult]) -> Void)? = nil
    ) {
    }

    /// Asks `relays`, or all connected ones of the operator's if there are none, for stored events. They come to the delegate as
    /// ``Reading/fetched``. Calls `completion` once, at the latest after `milliseconds`, when the last was handed over.
    package func fetch(
        _ filters: [Filter],
        from relays: [RelayURL] = [],
        within milliseconds: Int64,
        completion: @escaping @Sendable () -> Void
    ) {
    }

    /// All relays that are known at this moment, sorted.
    package var status: [RelayStatus] { [] }

    /// Closes all connections and opens none any more. To be called before the event loop group shuts down.
    package func shutdown() async {
    }
}
