import Listening
import NIOConcurrencyHelpers

/// What clients do over all their connections. Behind a bounded number of others a client is forgotten, and begins anew.
final class ClientTables: Sendable {
    /// Some 100 bytes each.
    private static let capacity = 50_000

    private struct Tables {
        var openings: ClientRates
        var messages: ClientRates
        var bytes: ClientRates
        var registrations: ClientRates
    }

    private let tables: NIOLockedValueBox<Tables>

    init(_ limits: RelayServerConfiguration.Limits) {
        func table(_ burst: Int, _ perSecond: Double) -> ClientRates {
            ClientRates(burst: burst, perSecond: perSecond, capacity: Self.capacity)
        }
        let openings = limits.openingsPerClientPerMinute
        // A message of the longest kind must be possible.
        let bytesBurst = max(limits.bytesPerClientPerSecond * 8, limits.messageBytes)
        tables = NIOLockedValueBox(
            Tables(
                openings: table(openings, Double(openings) / 60),
                messages: table(limits.clientBurst, Double(limits.messagesPerClientPerSecond)),
                bytes: table(bytesBurst, Double(limits.bytesPerClientPerSecond)),
                registrations: table(Int(limits.registrationBurst), limits.registrationsPerSecond)
            )
        )
    }

    /// Whether `client` may open one more connection at `now`, in milliseconds since 1970.
    func mayOpen(_ client: ClientAddress, now: Int64) -> Bool {
        tables.withLockedValue { $0.openings.take(client, now: now) }
    }

    fileprivate func take(messageOf bytes: Int, from client: ClientAddress, now: Int64) -> ClientLimit? {
        tables.withLockedValue { tables in
            guard tables.messages.take(client, now: now) else { return .messages }
            return tables.bytes.take(client, bytes, now: now) ? nil : .bytes
        }
    }

    fileprivate func takeRegistration(from client: ClientAddress, now: Int64) -> Bool {
        tables.withLockedValue { $0.registrations.take(client, now: now) }
    }
}

/// One client's part in ``ClientTables``.
struct ClientShare: Sendable {
    private let tables: ClientTables
    private let client: ClientAddress

    /// Nil for this machine and for proxies that name nobody: everybody may be behind them.
    init?(of client: ClientAddress?, in tables: ClientTables) {
        guard let client, !client.isLoopback else { return nil }
        self.tables = tables
        self.client = client
    }

    /// What stands against a message of so many bytes at `now`, in milliseconds since 1970; nil: it may pass.
    func take(messageOf bytes: Int, now: Int64) -> ClientLimit? {
        tables.take(messageOf: bytes, from: client, now: now)
    }

    /// Whether a registration may pass besides.
    func takeRegistration(now: Int64) -> Bool {
        tables.takeRegistration(from: client, now: now)
    }
}
