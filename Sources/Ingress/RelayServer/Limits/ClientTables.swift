import Listening
import NIOConcurrencyHelpers

/// What clients do over all their connections. Behind a bounded number of others a client is forgotten, and begins anew.
final class ClientTables: Sendable {
    /// Some 100 bytes each.
    private static let capacity = 50_000

    private struct Tables {
        var openings: RateTable<ClientAddress>
        var messages: RateTable<ClientAddress>
        var bytes: RateTable<ClientAddress>
        var registrations: RateTable<ClientAddress>
        /// Of clients behind proxies; others are counted as they connect.
        var connections: [ClientAddress: Int] = [:]
    }

    private let tables: NIOLockedValueBox<Tables>
    private let connectionsPerClient: Int

    init(_ limits: RelayServerConfiguration.Limits) {
        connectionsPerClient = limits.connectionsPerClient
        func table(_ burst: Int, _ perSecond: Double) -> RateTable<ClientAddress> {
            RateTable(burst: burst, perSecond: perSecond, capacity: Self.capacity)
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

    /// Counts a connection that a proxy brought; false when the client has too many.
    func enter(_ client: ClientAddress) -> Bool {
        tables.withLockedValue { tables in
            let count = tables.connections[client, default: 0]
            guard count < connectionsPerClient else { return false }
            tables.connections[client] = count + 1
            return true
        }
    }

    /// A connection that a proxy brought has ended.
    func leave(_ client: ClientAddress) {
        tables.withLockedValue { tables in
            let count = tables.connections[client, default: 0]
            tables.connections[client] = count > 1 ? count - 1 : nil
        }
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
