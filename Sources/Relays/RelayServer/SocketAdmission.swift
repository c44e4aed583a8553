import Core
import Listeners
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// Decides who may connect to the socket, and how much each client may send over all its connections.
final class SocketAdmission: Sendable {
    typealias Place = SocketPlaces<any Channel>.Number

    private let limits: RelayServerConfiguration.Limits
    private let isTrustedProxy: @Sendable (String) -> Bool
    private let isBlocked: @Sendable (String) -> Bool
    private let places: Mutex<SocketPlaces<any Channel>>
    /// Who is behind each connection, as far as that is known.
    private let addresses = Mutex<[Place: (address: String, channel: any Channel)]>([:])
    private let clients: ClientTables
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    init(_ configuration: RelayServerConfiguration, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        limits = configuration.limits
        isTrustedProxy = configuration.isTrustedProxy
        isBlocked = configuration.isBlocked
        let connections = ConnectionCounts(
            limit: limits.connections,
            limitPerAddress: limits.connectionsPerClient,
            now: now()
        )
        places = Mutex(SocketPlaces(counts: connections))
        clients = ClientTables(limits)
        counts = configuration.counts
        self.now = now
        self.logger = logger
    }

    /// What the client behind a connection may send; nil where nobody knows whose connection it is.
    func share(of channel: any Channel, _ head: HTTPRequestHead) -> ClientShare? {
        ClientShare(of: client(of: channel, head), in: clients)
    }

    /// The address of the client behind a connection; nil for a proxy that names nobody.
    func address(of channel: any Channel, _ head: HTTPRequestHead) -> String? {
        ClientAddress.text(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: head.headers["x-forwarded-for"],
            isTrustedProxy: isTrustedProxy
        )
    }

    /// Whose connection this is; nil for a proxy that names nobody.
    private func client(of channel: any Channel, _ head: HTTPRequestHead? = nil) -> ClientAddress? {
        ClientAddress(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: head?.headers["x-forwarded-for"] ?? [],
            isTrustedProxy: isTrustedProxy
        )
    }

    /// Gives the connection a place until it ends; nil when there is none.
    func admit(_ channel: any Channel, _ activity: SocketActivity) -> Place? {
        let address = ClientAddress.plain(channel.remoteAddress?.ipAddress ?? "")
        let client = isTrustedProxy(address) ? nil : ClientAddress(address)
        guard client == nil || !isBlocked(address) else {
            counts.refused(by: .blocked)
            return nil
        }
        let now = now()
        if let client, !client.isLoopback, !clients.mayOpen(client, now: now) {
            counts.refused(by: .openings)
            return nil
        }
        guard let place = settle(places.withLock { $0.admit(client, channel, activity, now: now) }) else { return nil }
        counts.opened()
        if client != nil { addresses.withLock { $0[place] = (address, channel) } }
        channel.closeFuture.whenComplete { _ in
            self.places.withLock { $0.leave(place) }
            self.addresses.withLock { $0[place] = nil }
            self.counts.closed()
        }
        return place
    }

    /// Counts a connection that a trusted proxy brought for the client that it names; false when that has too many.
    func admitForwarded(_ channel: any Channel, _ head: HTTPRequestHead, _ place: Place) -> Bool {
        guard isTrustedProxy(ClientAddress.plain(channel.remoteAddress?.ipAddress ?? "")),
            let address = address(of: channel, head)
        else { return true }
        guard !isBlocked(address) else {
            counts.refused(by: .blocked)
            return false
        }
        addresses.withLock { $0[place] = (address, channel) }
        guard let client = client(of: channel, head), !client.isLoopback else { return true }
        let now = now()
        guard clients.mayOpen(client, now: now) else {
            counts.refused(by: .openings)
            return false
        }
        return settle(places.withLock { $0.name(place, client, now: now) }) != nil
    }

    /// Ends connections whose addresses are blocked by now.
    func endBlocked() {
        let blocked = addresses.withLock { $0.values.filter { isBlocked($0.address) } }
        for (_, channel) in blocked {
            counts.refused(by: .blocked)
            channel.close(promise: nil)
        }
    }

    /// The place that was given; nil for none.
    private func settle(_ decision: SocketPlaces<any Channel>.Decision) -> Place? {
        switch decision {
        case .admitted(let place, let former):
            if let former {
                counts.refused(by: .idle)
                former.pipeline.fireUserInboundEventTriggered(GiveWay())
                // Whatever its pipeline makes of that, which may be about to change.
                former.eventLoop.scheduleTask(in: TimeAmount(limits.handshakeTimeout)) {
                    former.close(promise: nil)
                }
            }
            return place
        case .refused(let limit, let shouldLog):
            counts.refused(by: .connections)
            if shouldLog {
                logger.warning("Refusing connections: too many are open", metadata: ["limit": "\(limit)"])
            }
            return nil
        }
    }
}

/// How much each client sends over all its connections. After a bounded number of others a client is forgotten, and
/// begins anew.
final class ClientTables: Sendable {
    /// Some 100 bytes each.
    private static let capacity = 50_000

    fileprivate struct Tables {
        var openings: ClientRates
        var messages: ClientRates
        var bytes: ClientRates
        var registrations: ClientRates
    }

    fileprivate let tables: Mutex<Tables>

    init(_ limits: RelayServerConfiguration.Limits) {
        func table(_ burst: Int, _ perSecond: Double) -> ClientRates {
            ClientRates(burst: burst, perSecond: perSecond, capacity: Self.capacity)
        }
        let openings = limits.openingsPerClientPerMinute
        // A message of the longest kind must be possible.
        let bytesBurst = max(limits.bytesPerClientPerSecond * 8, limits.messageBytes.bytes)
        tables = Mutex(
            Tables(
                openings: table(openings, Double(openings) / 60),
                messages: table(limits.clientBurst, Double(limits.messagesPerClientPerSecond)),
                bytes: table(bytesBurst, Double(limits.bytesPerClientPerSecond)),
                registrations: table(Int(limits.registrationBurst), limits.registrationsPerSecond)
            )
        )
    }

    /// Whether `client` may open one more connection at `now`.
    func mayOpen(_ client: ClientAddress, now: Timestamp) -> Bool {
        tables.withLock { $0.openings.take(client, now: now) }
    }
}

/// One client's part in ``ClientTables``.
struct ClientShare: Sendable {
    private let tables: ClientTables
    private let client: ClientAddress

    /// Nil for this machine and for proxies that name no client: everybody may be behind them.
    init?(of client: ClientAddress?, in tables: ClientTables) {
        guard let client, !client.isLoopback else { return nil }
        self.tables = tables
        self.client = client
    }

    /// The limit that a message of so many bytes exceeds at `now`; nil: it may pass.
    func take(messageOf bytes: Int, now: Timestamp) -> ClientLimit? {
        tables.tables.withLock { tables in
            guard tables.messages.take(client, now: now) else { return .messages }
            return tables.bytes.take(client, bytes, now: now) ? nil : .bytes
        }
    }

    /// Whether a registration may pass besides.
    func takeRegistration(now: Timestamp) -> Bool {
        tables.tables.withLock { $0.registrations.take(client, now: now) }
    }
}
