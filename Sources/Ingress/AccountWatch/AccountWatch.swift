import Logging
import Nostr
import Registry
import RelayPool

/// Decides which keys are watched at which relays, and remembers how far each was read.
///
///     let watch = try AccountWatch(registry: registry, configuration: configuration, now: now, logger: logger)
///     let pool = try RelayPool(…, delegate: …, mark: watch.mark, …)  // the delegate reports to `watch`
///     try watch.start(at: pool)
///     await pool.shutdown()
///     watch.shutdown()
///
/// Safe to call from any thread. Nothing blocks but ``start(at:)`` and ``shutdown()``.
package final class AccountWatch: Sendable {
    /// `now` is in milliseconds since 1970. `schedule` runs an action once, after so many milliseconds, on any thread and never
    /// before it returns. Throws a `RegistryStoreError`.
    package init(
        registry: Registry,
        configuration: Configuration,
        now: @escaping @Sendable () -> Int64,
        schedule: @escaping @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void =
            WatchQueue().schedule,
        logger: Logger
    ) throws {
    }

    /// Reads who is registered and has everybody watched, once. Takes seconds where there are a million accounts. Throws a
    /// `RegistryStoreError`. What is reported through the other functions before or meanwhile is not lost.
    package func start(at relays: any RelayWatching) throws {
    }

    /// Takes note that an account, a root of interest or a list of theirs came, changed or went.
    package func changed(_ keys: Set<PublicKey>) {
    }

    /// Takes note of a hint for `account` by one of its partners, `time` in milliseconds since 1970.
    package func heard(account: PublicKey, partner: PublicKey, at time: Int64) {
    }

    /// Up to when everything that a relay had was dealt with, in seconds since 1970. Cheap: reads memory.
    package func mark(of relay: RelayURL) -> Int64? { nil }

    /// Takes note that everything that `relay` had stored for these keys was read and dealt with.
    package func established(_ keys: [PublicKey], at relay: RelayURL) {
    }

    /// Takes note that everything that `relay` had up to `moment`, in seconds since 1970, was read and dealt with.
    package func marked(_ relay: RelayURL, upTo moment: Int64) {
    }

    /// Writes what was taken note of and not yet written, and does nothing more. To be called when the pool was shut down.
    package func shutdown() {
    }
}
