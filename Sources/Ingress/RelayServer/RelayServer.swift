import BrowserPages
import Listening
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Nostr
import Units
import WebSocketFrames

/// Our own relay socket: takes registrations and any event to be routed, serves what it stores, and sends subscribers
/// new events of ours.
package final class RelayServer: Sendable {
    /// What clients can meet here.
    package static let clientLimits: [ClientLimit] = [
        .connections, .idle, .openings, .messages, .bytes, .registrations, .blocked,
    ]

    private let configuration: RelayServerConfiguration
    private let information: RelayInformation
    private let documents: NIOLockedValueBox<InformationHandler.Documents>
    private let site: StaticSite?
    private let backend: any RelayBackend
    private let group: any EventLoopGroup
    private let now: @Sendable () -> Timestamp
    private let challenge: @Sendable () -> String
    private let admission: SocketAdmission
    private let audience: LiveAudience
    private let counts: LimitCounts

    /// - Parameters:
    ///   - configuration: Where to listen and what a client may do.
    ///   - information: The NIP-11 document.
    ///   - site: Pages for browsers; nil: none.
    ///   - backend: Where events go and what there is to serve.
    ///   - group: The event loops to run on; stays the caller's.
    ///   - now: The wall clock.
    ///   - challenge: A fresh random word for each connection (NIP-42).
    ///   - counts: Where connections and refusals are counted.
    ///   - logger: Where connections are logged, without addresses.
    package init(
        configuration: RelayServerConfiguration,
        information: RelayInformation,
        site: StaticSite? = nil,
        backend: any RelayBackend,
        group: any EventLoopGroup,
        now: @escaping @Sendable () -> Timestamp,
        challenge: @escaping @Sendable () -> String,
        counts: LimitCounts = LimitCounts(),
        logger: Logger
    ) {
        self.configuration = configuration
        self.information = information
        self.site = site
        self.documents = NIOLockedValueBox(InformationHandler.Documents(information: []))
        self.backend = backend
        self.group = group
        self.now = now
        self.challenge = challenge
        self.counts = counts
        self.admission = SocketAdmission(configuration, counts: counts, now: now, logger: logger)
        Self.instantiateDecoders()
        self.audience = LiveAudience(logger: logger)
    }

    /// Swift's runtime (6.3.1) sometimes crashes when several threads instantiate these generic types for the first
    /// time at the same moment, as event loops do when their first connections come together. So one thread
    /// instantiates them in advance.
    private static func instantiateDecoders() {
        let handlers: [any ChannelHandler] = [
            ByteToMessageHandler(HTTPRequestDecoder()),
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1_024)),
        ]
        withExtendedLifetime(handlers) {}
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
        documents.withLockedValue {
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
                documents: { self.documents.withLockedValue { $0 } },
                site: site,
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
                url: configuration.url,
                addresses: addresses(of: channel),
                challenge: challenge(),
                share: admission.share(of: channel, head),
                counts: counts,
                now: now()
            )
            let progress = MessageDeadline.Progress()
            try channel.pipeline.syncOperations.addHandler(
                MessageDeadline(patience: TimeAmount(configuration.limits.messageTimeout), progress: progress),
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
            try channel.pipeline.syncOperations.addHandler(
                WebSocketHandler(
                    connection: connection,
                    backend: backend,
                    client: admission.address(of: channel, head),
                    limits: configuration.limits,
                    audience: audience,
                    progress: progress,
                    activity: activity,
                    now: now
                )
            )
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
