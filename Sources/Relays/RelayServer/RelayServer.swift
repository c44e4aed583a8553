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

/// Our own relay socket: takes registrations and any event to be routed, serves what it stores, and sends subscribers
/// new events of ours.
package final class RelayServer: Sendable {
    /// What clients can meet here.
    package static let clientLimits: [ClientLimit] = [
        .connections, .idle, .openings, .messages, .bytes, .registrations, .blocked,
    ]

    private let configuration: RelayServerConfiguration
    private let information: RelayInformation
    private let documents: Mutex<InformationHandler.Documents>
    private let backend: any RelayBackend
    private let group: any EventLoopGroup
    private let now: @Sendable () -> Timestamp
    private let admission: SocketAdmission
    private let audience: LiveAudience

    /// - Parameters:
    ///   - configuration: Where to listen and what a client may do.
    ///   - information: The NIP-11 document.
    ///   - backend: Where events go and what there is to serve.
    ///   - group: The event loops to run on; stays the caller's.
    ///   - now: The wall clock.
    ///   - logger: Where connections are logged, without addresses.
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
        self.admission = SocketAdmission(configuration, now: now, logger: logger)
        FrameRules.instantiateDecoders()
        self.audience = LiveAudience(logger: logger)
    }

    /// Sends an event to every connection with a subscription that it matches (NIP-01). Returns at once, on any thread.
    ///
    /// Meant for our own events: answers of a NIP-46 session (kind 24133), which reach only subscriptions whose `#p`
    /// names their addressee, and our advertisement (kind 10067). No other kind reaches anybody.
    package func broadcast(_ event: Event) {
        audience.send(event)
    }

    /// Ends connections whose addresses are blocked by now.
    package func endBlockedConnections() { admission.endBlocked() }

    /// Replaces what is answered over HTTP: the NIP-11 document, and the JSON document for clients that register.
    package func inform(_ information: RelayInformation, discovery: [UInt8]?) throws {
        let document = try information.json()
        documents.withLock {
            $0 = InformationHandler.Documents(information: document, discovery: discovery)
        }
    }

    /// Starts listening. The returned listener stays open until it is closed.
    ///
    /// Throws a ``ListenError`` when the address cannot be listened on.
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
                patience: TimeAmount(configuration.limits.handshakeTimeout)
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
        _ place: SocketAdmission.Place,
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
                MessageDeadline(patience: TimeAmount(configuration.limits.messageTimeout), progress: handler.progress),
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

    /// The address that a client has reached us at, and the name from the configuration that we listen at.
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

    /// The port really listened on.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Stops listening; connections that are open stay until they end.
    package func close() async throws {
        try await channel.close()
    }
}

/// Where our own relay socket listens and what one client may ask of it. The defaults suit a public address.
package struct RelayServerConfiguration: Sendable {
    /// The address to listen on.
    package var host: String = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    package var port: Int = 7447
    /// The URL under which clients know us, as in `wss://notify.example.com`: what NIP-42 proofs must name. Where it is
    /// empty they must name the address at which the client reached us.
    package var url: String = ""
    /// Where connections and refusals are counted.
    package var counts = LimitCounts()
    /// Whether what `X-Forwarded-For` says is believed when it comes from this address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Whether nothing is taken from this address.
    package var isBlocked: @Sendable (String) -> Bool = { _ in false }
    /// Pages for browsers; nil: none.
    package var site: StaticSite?
    /// A fresh random word for each connection (NIP-42).
    package var challenge: @Sendable () -> String = { Hex.encode(SecureRandom.bytes(16)) }
    package var limits = Limits()

    /// What one client may do. Each limit answers in the standard way and ends no other client's connection.
    package struct Limits: Sendable, Equatable {
        /// The longest message; a longer one closes the connection (status 1009).
        package var messageBytes: ByteCount = .kibibytes(128)
        /// Open subscriptions of one connection.
        package var subscriptions = 20
        /// Filters in one REQ.
        package var filters = 10
        /// Values in all filters of one connection that events to come can still match: ids, keys, kinds and tag
        /// values.
        package var liveValues = 2_000
        /// Messages one connection may send a second, over time. Parts of messages, pings and pongs count as messages
        /// do.
        package var messagesPerSecond: Double = 100
        /// Messages it may send at once, before the rate counts.
        package var burst: Double = 500
        /// Registrations one client may send a second, over time, however many connections it has: each is a write to
        /// disk.
        package var registrationsPerSecond: Double = 1
        /// Registrations it may send at once, before their rate counts.
        package var registrationBurst: Double = 100
        /// Events of one connection that are being worked on; more are left unread in the socket.
        package var eventsInWork = 512
        /// The bytes of such events.
        package var bytesInWork: ByteCount = .kibibytes(256)
        /// Queries of one connection that are answered at the same time; more wait.
        package var queriesInWork = 2
        /// Answers that one connection may leave unread; with more it is closed.
        package var unreadBytes: ByteCount = .mebibytes(4)
        /// Connections at the same time. A further one takes the place of an idle one whose client has proven nothing,
        /// or is closed at once.
        package var connections = 1_000
        /// Connections of one client at the same time. A client is an IPv4 address or an IPv6 network of 64 bits, and
        /// networks of 48 and 32 bits have this and the limits below as well, with larger allowances
        /// (`ClientAddress.Network`); behind a trusted proxy it is the client that the proxy names. Loopback, and a
        /// proxy that names nobody, have none of the limits for clients: everybody may be behind them.
        package var connectionsPerClient = 100
        /// Connections that one client may open a minute, over time, and as many at once.
        package var openingsPerClientPerMinute = 120
        /// Messages of one client a second, over time, however many connections it has.
        package var messagesPerClientPerSecond = 200
        /// Messages it may send at once, before the rate counts.
        package var clientBurst = 2_000
        /// Bytes of messages of one client a second, over time. At once it may send eight times as many.
        package var bytesPerClientPerSecond = 2_097_152
        /// How long a client may take to ask for anything, and to take its leave.
        package var handshakeTimeout: Duration = .seconds(10)
        /// How long a client may take for one message from its first byte on.
        package var messageTimeout: Duration = .seconds(60)
        /// How long a connection may be silent before it is pinged; after twice that it is closed.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }

    package init() {}
}

/// What is behind the socket: takes events and serves stored ones.
package protocol RelayBackend: Sendable {
    /// Takes events, each the bytes of one JSON object as it came. Calls `completion` once, on any thread, with an
    /// answer for each event in order, when what was accepted is kept. Returns at once; while answers are outstanding
    /// the caller reads no more than its limits allow. Whoever sent the events has proven to be `authenticated`
    /// (NIP-42); that says nothing about who signed them. `client` is the address that they came from, where it is
    /// known.
    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    )

    /// The stored events that match any of `filters`, newest first, as the bytes of JSON objects. Registrations come
    /// only to their own authors, who are among `authenticated`.
    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]]
}

/// The content of an OK message (NIP-01).
package struct EventAnswer: Sendable, Hashable {
    /// The event's id; nil when the event could not be read that far.
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
    /// OK, or a NOTICE when the event says no id to say OK about.
    func relayMessage(to event: [UInt8]) -> RelayMessage {
        guard let id = id ?? event.withUnsafeBytes(EventScanner.id) else { return .notice(message) }
        return .ok(id, isAccepted: accepted, message: message)
    }
}
