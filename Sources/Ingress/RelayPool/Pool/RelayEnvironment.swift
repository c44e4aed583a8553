import HTTPLanes
import Logging
import NIOConcurrencyHelpers
import Nostr

/// What all relays of a pool share.
struct RelayEnvironment: Sendable {
    let limits: ConnectionLimits
    let pauses: ConnectionPauses
    let session: SessionSettings
    /// What of the session's settings changes with the rules; has the last word.
    let wishes: NIOLockedValueBox<RelayWishes>
    let identity: KeyPair
    let connector: RelayConnector
    let http: any HTTPSender
    let delegate: any RelayPoolDelegate
    let mark: @Sendable (RelayURL) -> Int64?
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    /// From 0 to 1.
    let jitter: @Sendable () -> Double
    let logger: Logger
}
