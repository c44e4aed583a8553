import Cipher
import Core
import Listeners
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Nostr
import Synchronization

/// The router's own relay socket: takes registrations and events to route, serves stored events, and sends the router's
/// new events to subscribers.
package final class RelayServer: Sendable {
    /// The limits that clients may exceed here.
    package static let clientLimits: [ClientLimit] = [
        .connections, .idle, .openings, .messages, .bytes, .registrations, .blocked,
    ]

    private let configuration: RelayServerConfiguration
    private let information: RelayInformation
    private let documents: Mutex<InformationHandler.Documents>
    private let backend: any RelayBackend
    private let group: any EventLoopGroup
    private let now: @Sendable () -> Timestamp
    private let admission: ConnectionLimiter
    private let audience: LiveAudience

    /// - Parameters:
    ///   - configuration: The listening address and the limits for clients.
    ///   - information: The NIP-11 document.
    ///   - backend: Takes events and serves stored ones.
    ///   - group: The event loops to run on; owned by the caller.
    ///   - now: The wall clock.
    ///   - logger: Logs connections, without addresses.
    package init(
        configuration: RelayServerConfiguration,
        information: RelayInformation,
        backend: any RelayBackend,
        group: any EventLoopGroup,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.configuration = configuration
        self.information = information
        self.documents = Mutex(InformationHandler.Documents(information: []))
        self.backend = backend
        self.group = group
        self.now = now
        self.admission = ConnectionLimiter(configuration, now: now, logger: logger)
        FrameRules.instantiateDecoders()
        self.audience = LiveAudience(logger: logger)
    }

    /// Sends an event to every connection with a matching subscription (NIP-01). Does not block. Callable from any
    /// thread.
    ///
    /// Only for the router's own events: NIP-46 responses (kind 24133), which are sent only to subscriptions whose `#p`
    /// names their recipient, and the advertisement (kind 10067). Other kinds are not sent.
    package func broadcast(_ event: Event) {
        audience.send(event)
    }

    /// Closes connections whose addresses have been blocked.
    package func endBlockedConnections() { admission.endBlocked() }

    /// Replaces the HTTP documents: the NIP-11 document, and the JSON document for clients that register.
    package func inform(_ information: RelayInformation, discovery: [UInt8]?) throws {
        let document = try information.json()
        documents.withLock {
            $0 = InformationHandler.Documents(information: document, discovery: discovery)
        }
    }

    /// Starts listening. The returned listener stays open until it is closed.
    ///
    /// Throws a ``ListenError`` if the address cannot be used.
    package func start() async throws -> RelayListener {
        try inform(information, discovery: nil)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in self.initialize(channel) }
        do {
            let channel = try await bootstrap.bind(host: configuration.host, port: configuration.port).get()
            return RelayListener(channel: channel)
        } catch {
            throw ListenError(error)
        }
    }

    private func initialize(_ channel: any Channel) -> EventLoopFuture<Void> {
        let activity = SocketActivity(now: now())
        guard let place = admission.admit(channel, activity) else { return channel.close() }
        return channel.eventLoop.makeCompletedFuture {
            let information = InformationHandler(
                documents: { self.documents.withLock { $0 } },
                site: configuration.site,
                timeout: TimeAmount(configuration.limits.handshakeTimeout)
            )
            let bound = NIOLoopBound(information, eventLoop: channel.eventLoop)
            let upgrade: NIOHTTPServerUpgradeSendableConfiguration = (
                upgraders: [upgrader(bound, place, activity)],
                completionHandler: { context in
                    context.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
                }
            )
            try channel.pipeline.syncOperations.addHandler(
                IdleStateHandler(readTimeout: TimeAmount(configuration.limits.idleTimeout))
            )
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withServerUpgrade: upgrade,
                withErrorHandling: true
            )
            try channel.pipeline.syncOperations.addHandler(information)
        }
    }

    private func upgrader(
        _ information: NIOLoopBound<InformationHandler>,
        _ place: ConnectionLimiter.Place,
        _ activity: SocketActivity
    ) -> NIOWebSocketServerUpgrader {
        NIOWebSocketServerUpgrader(
            maxFrameSize: configuration.limits.messageBytes.bytes,
            automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                guard head.namesOneHost else { return channel.eventLoop.makeSucceededFuture(nil) }
                guard self.admission.admitForwarded(channel, head, place) else {
                    information.value.refusesUpgrade = true
                    return channel.eventLoop.makeSucceededFuture(nil)
                }
                return channel.eventLoop.makeSucceededFuture(HTTPHeaders())
            },
            upgradePipelineHandler: { channel, head in self.addWebSocket(to: channel, head, activity) }
        )
    }

    private func addWebSocket(
        to channel: any Channel,
        _ head: HTTPRequestHead,
        _ activity: SocketActivity
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let connection = RelayConnection(
                limits: configuration.limits,
                ClientAuthentication(
                    url: configuration.url,
                    addresses: addresses(of: channel),
                    challenge: configuration.challenge()
                ),
                share: admission.share(of: channel, head),
                counts: configuration.counts,
                now: now()
            )
            let handler = WebSocketHandler(
                connection: connection,
                backend: backend,
                client: admission.address(of: channel, head),
                audience: audience,
                activity: activity,
                now: now
            )
            try channel.pipeline.syncOperations.addHandler(
                MessageDeadline(timeout: TimeAmount(configuration.limits.messageTimeout), progress: handler.progress),
                position: .first
            )
            let decoder = try channel.pipeline.syncOperations.handler(
                type: ByteToMessageHandler<WebSocketFrameDecoder>.self
            )
            try channel.pipeline.syncOperations.addHandler(FrameLengths(), position: .before(decoder))
            try channel.pipeline.syncOperations.addHandlers(
                FrameRules.handlers(
                    for: .client,
                    fragments: 1_024,
                    messageBytes: configuration.limits.messageBytes.bytes
                )
            )
            try channel.pipeline.syncOperations.addHandler(handler)
        }
    }

    /// Returns the local address of a connection, and the configured name of the listener.
    private func addresses(of channel: any Channel) -> [String] {
        let name = ["0.0.0.0", "::"].contains(configuration.host) ? nil : configuration.host
        return [channel.localAddress?.ipAddress, name].compactMap(\.self)
    }
}

/// A listening relay socket.
package struct RelayListener: Sendable {
    private let channel: any Channel

    init(channel: any Channel) {
        self.channel = channel
    }

    /// The actual port.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Stops listening. Open connections stay until they end.
    package func close() async throws {
        try await channel.close()
    }
}

/// The address of the router's relay socket and the limits for one client. The defaults suit a public address.
package struct RelayServerConfiguration: Sendable {
    /// The address to listen on.
    package var host: String = "127.0.0.1"
    /// The port to listen on; 0: the system chooses one.
    package var port: Int = 7447
    /// The public URL, such as `wss://notify.example.com`, which NIP-42 events must name. If it is empty, they must
    /// name the address at which the client connected.
    package var url: String = ""
    /// Counts connections and refusals.
    package var counts = LimitCounts()
    /// Whether `X-Forwarded-For` from this address is trusted.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Whether this address is blocked.
    package var isBlocked: @Sendable (String) -> Bool = { _ in false }
    /// Pages for browsers; nil: none.
    package var site: StaticSite?
    /// Returns a new random challenge for each connection (NIP-42).
    package var challenge: @Sendable () -> String = { Hex.encode(SecureRandom.bytes(16)) }
    package var limits = Limits()

    /// The limits for one client, with standard responses. Only limits of connections may close other clients' idle
    /// ones.
    package struct Limits: Sendable, Equatable {
        /// The maximum message size. A longer message closes the connection (status 1009).
        package var messageBytes: ByteCount = .kibibytes(128)
        /// The maximum number of open subscriptions of one connection.
        package var subscriptions = 20
        /// The maximum number of filters in one REQ.
        package var filters = 10
        /// The maximum number of values in all filters of one connection that future events can match: ids, keys, kinds
        /// and tag values.
        package var liveValues = 2_000
        /// The sustained rate of messages of one connection per second. Fragments, pings and pongs count as messages.
        package var messagesPerSecond: Double = 100
        /// The maximum burst of messages.
        package var burst: Double = 500
        /// The sustained rate of registrations of one client per second, over all its connections. Each is a write to
        /// disk.
        package var registrationsPerSecond: Double = 1
        /// The maximum burst of registrations.
        package var registrationBurst: Double = 100
        /// The maximum number of events of one connection in progress. More events stay unread in the socket.
        package var eventsInWork = 512
        /// The maximum bytes of such events.
        package var bytesInWork: ByteCount = .kibibytes(256)
        /// The maximum number of concurrent queries of one connection. More queries wait.
        package var queriesInWork = 2
        /// The maximum bytes of responses that one connection may leave unread. With more it is closed.
        package var unreadBytes: ByteCount = .mebibytes(4)
        /// The maximum number of connections. An additional one replaces an idle connection whose client has not
        /// authenticated or registered, or is closed immediately.
        package var connections = 1_000
        /// The maximum number of connections of one client. A client is an IPv4 address or an IPv6 network of 64 bits;
        /// behind a trusted proxy it is the client that the proxy names. Networks of 48 and 32 bits have this limit and
        /// those below too, with larger allowances (`ClientAddress.Network`). Loopback, and a proxy that names no
        /// client, have no limits for clients, because many clients may be behind them.
        package var connectionsPerClient = 100
        /// The sustained rate of new connections of one client per minute, and the burst.
        package var openingsPerClientPerMinute = 120
        /// The sustained rate of messages of one client per second, over all its connections.
        package var messagesPerClientPerSecond = 200
        /// The maximum burst of messages.
        package var clientBurst = 2_000
        /// The sustained rate of message bytes of one client per second. The burst is eight times as large.
        package var bytesPerClientPerSecond = 2_097_152
        /// The timeout for a client's first request, and for its closing handshake.
        package var handshakeTimeout: Duration = .seconds(10)
        /// The timeout for one message, from its first byte on.
        package var messageTimeout: Duration = .seconds(60)
        /// How long a connection may be silent before it is pinged. After twice that time it is closed.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }

    package init() {}
}

/// The service behind the socket: takes events and serves stored ones.
package protocol RelayBackend: Sendable {
    /// Takes events, each the received bytes of one JSON object. Calls `completion` once, on any thread, with a result
    /// for each event in order, when the accepted events are stored. Must not block; while results are outstanding, the
    /// caller reads no more than its limits allow. `authenticated` are the sender's keys (NIP-42), which may differ
    /// from the events' authors. `client` is the address of the sender, if known.
    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    )

    /// Returns the stored events that match any of `filters`, newest first, as the bytes of JSON objects. Registrations
    /// are returned only to their own authors, who are among `authenticated`.
    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]]
}

/// The content of an OK message (NIP-01).
package struct EventAnswer: Sendable, Hashable {
    /// The event's id; nil if it could not be read.
    package var id: EventID?
    package var accepted: Bool
    /// Empty, or a machine-readable prefix, a colon and a sentence.
    package var message: String

    package init(id: EventID?, accepted: Bool, message: String = "") {
        self.id = id
        self.accepted = accepted
        self.message = message
    }
}

extension EventAnswer {
    /// Returns an OK, or a NOTICE if the event has no readable id.
    func relayMessage(to event: [UInt8]) -> RelayMessage {
        guard let id = id ?? event.withUnsafeBytes(EventScanner.id) else { return .notice(message) }
        return .ok(id, isAccepted: accepted, message: message)
    }
}
