import Core
import Listeners
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// Decides which clients may connect to the socket, and limits each client's rates over all its connections.
final class ConnectionLimiter: Sendable {
    typealias Place = ConnectionSlots<any Channel>.Number

    private let limits: RelayServerConfiguration.Limits
    private let isTrustedProxy: @Sendable (String) -> Bool
    private let isBlocked: @Sendable (String) -> Bool
    private let places: Mutex<ConnectionSlots<any Channel>>
    /// The client's address for each connection, if known.
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
        places = Mutex(ConnectionSlots(counts: connections))
        clients = ClientTables(limits)
        counts = configuration.counts
        self.now = now
        self.logger = logger
    }

    /// Returns the limits of a connection's client; nil if the client is unknown.
    func share(of channel: any Channel, _ head: HTTPRequestHead) -> ClientShare? {
        ClientShare(of: client(of: channel, head), in: clients)
    }

    /// Returns the address of a connection's client; nil for a proxy that names no client.
    func address(of channel: any Channel, _ head: HTTPRequestHead) -> String? {
        ClientAddress.text(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: head.headers["x-forwarded-for"],
            isTrustedProxy: isTrustedProxy
        )
    }

    /// Returns the client of a connection; nil for a proxy that names no client.
    private func client(of channel: any Channel, _ head: HTTPRequestHead? = nil) -> ClientAddress? {
        ClientAddress(
            peer: channel.remoteAddress?.ipAddress ?? "",
            forwardedFor: head?.headers["x-forwarded-for"] ?? [],
            isTrustedProxy: isTrustedProxy
        )
    }

    /// Returns a slot for the connection until it ends; nil if there is none.
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

    /// Counts a connection from a trusted proxy for the client that it names. Returns false if that client has too
    /// many.
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

    /// Closes connections whose addresses have been blocked.
    func endBlocked() {
        let blocked = addresses.withLock { $0.values.filter { isBlocked($0.address) } }
        for (_, channel) in blocked {
            counts.refused(by: .blocked)
            channel.close(promise: nil)
        }
    }

    /// Returns the slot, or nil if the connection was refused.
    private func settle(_ decision: ConnectionSlots<any Channel>.Decision) -> Place? {
        switch decision {
        case .admitted(let place, let former):
            if let former {
                counts.refused(by: .idle)
                former.pipeline.fireUserInboundEventTriggered(EvictionEvent())
                // Closes it even if its pipeline ignores the event, because the pipeline may be about to change.
                former.eventLoop.scheduleTask(in: TimeAmount(limits.handshakeTimeout)) {
                    former.close(promise: nil)
                }
            }
            return place
        case .refused(let limit, let shouldLog):
            counts.refused(by: .connections)
            if shouldLog {
                logger.warning("Refused a connection: too many are open", metadata: ["limit": "\(limit)"])
            }
            return nil
        }
    }
}

/// The rates of each client over all its connections. The number of clients is bounded: a client that is evicted starts
/// again with full buckets.
final class ClientTables: Sendable {
    /// The maximum number of clients, at some 100 bytes each.
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
        // A message of the maximum size must be possible.
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

/// One client's limits in ``ClientTables``.
struct ClientShare: Sendable {
    private let tables: ClientTables
    private let client: ClientAddress

    /// Nil for this machine and for proxies that name no client, because many clients may be behind them.
    init?(of client: ClientAddress?, in tables: ClientTables) {
        guard let client, !client.isLoopback else { return nil }
        self.tables = tables
        self.client = client
    }

    /// Returns the limit that a message of that length exceeds at `now`; nil if it is within the limits.
    func take(messageOf bytes: Int, now: Timestamp) -> ClientLimit? {
        tables.tables.withLock { tables in
            guard tables.messages.take(client, now: now) else { return .messages }
            return tables.bytes.take(client, bytes, now: now) ? nil : .bytes
        }
    }

    /// Whether the limit of registrations also permits one.
    func takeRegistration(now: Timestamp) -> Bool {
        tables.tables.withLock { $0.registrations.take(client, now: now) }
    }
}
