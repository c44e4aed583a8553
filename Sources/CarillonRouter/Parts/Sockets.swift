import BrowserPages
import Cipher
import Delivery
import Dispatch
import Feed
import Listening
import Logging
import NIOCore
import Nostr
import Notifications
import Operations
import Pipeline
import Registry
import RelayServer
import RouterConfiguration
import Synchronization
import Units
import WebIngress

/// Where events and push messages are brought to us: the relay socket, the sealed ingress, the feed.
final class Sockets: RouterPart {
    private struct State {
        var listener: RelayListener?
        var ingressPort: Int?
    }

    let server: RelayServer
    /// The clients of all our doors, also of the API's.
    let counts: ListenerCounts
    private let ingress: WebIngress?
    private let feed: Feed?
    private let hasFeedEnded = SharedFlag()
    private let configuration: Configuration
    private let state = Mutex(State())
    private let logger: Logger

    /// `stop` is sent where the feed's end is to be the router's.
    init(
        _ configuration: Configuration,
        key: PublicKey,
        backend: SocketBackend,
        ingress: (backend: SealedIngressBackend, platform: IngressPlatform)?,
        intake: Intake,
        screen: EventScreen,
        stop: StopSignal,
        group: any EventLoopGroup,
        isBlocked: @escaping @Sendable (_ address: String) -> Bool,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        self.configuration = configuration
        self.logger = logger
        counts = ListenerCounts(configuration)
        server = RelayServer(
            configuration: configuration.relayServer(isBlocked: isBlocked),
            information: configuration.relayInformation(of: key),
            site: try configuration.subscribePage?.site(socketURL: configuration.relay.url),
            backend: backend,
            group: group,
            now: now,
            challenge: { Hex.encode(SecureRandom.bytes(16)) },
            counts: counts.socket,
            logger: logger
        )
        if let ingress, let settings = configuration.sealedIngress {
            var web = settings.web
            web.isBlocked = isBlocked
            self.ingress = WebIngress(
                configuration: web,
                platform: ingress.platform,
                backend: ingress.backend,
                // One loop: swift-nio's generic decoders do not stand being needed on several for the first time.
                loop: group.next(),
                now: now,
                counts: counts.ingress ?? LimitCounts(),
                logger: logger
            )
        } else {
            self.ingress = nil
        }
        let hasFeedEnded = hasFeedEnded
        feed = try configuration.feed.map { feed in
            try Feed(
                FeedInput(path: feed.path),
                screening: { screen.screening(of: .feed) },
                submit: { events, completion in
                    let submission = Submission(events: events, source: .feed) { completion($0.map(\.feedAnswer)) }
                    intake.submit(submission)
                },
                ended: { _ in
                    hasFeedEnded.set(true)
                    logger.notice(feed.stopsAtEnd ? "Stopping, as the feed has ended" : "Serving on without the feed")
                    if feed.stopsAtEnd { stop.send() }
                },
                now: Deadline.now,
                logger: logger
            )
        }
    }

    /// Where the relay socket listens; nil before it does.
    var port: Int? { state.withLock { $0.listener?.port } }

    /// Whether a feed delivers events or the sealed ingress takes pushes.
    var hasSource: Bool { ingress != nil || (feed != nil && !hasFeedEnded.isSet) }

    /// Where the sealed ingress listens; nil before it does, and where there is none.
    var ingressPort: Int? { state.withLock { $0.ingressPort } }

    func prepare() async throws {
        let relay = configuration.relay
        do {
            let listener = try await server.start()
            state.withLock { $0.listener = listener }
        } catch {
            throw RouterError.cannotListen("relay.listen", host: relay.host, port: relay.port, error)
        }
        guard let ingress, let web = configuration.sealedIngress?.web else { return }
        do {
            let port = try await ingress.start()
            state.withLock { $0.ingressPort = port }
            logger.info("Taking push messages", metadata: ["address": "\(web.host):\(port)"])
        } catch {
            let key = configuration.isOfEnvironment ? "PORT" : "sealed_ingress.listen"
            throw RouterError.cannotListen(key, host: web.host, port: web.port, error)
        }
    }

    func start() {
        feed?.start()
    }

    func stop(_ time: StopBudget) async {
        do {
            try await state.withLock { $0.listener }?.close()
        } catch {
            logger.warning("The relay socket did not close", metadata: ["error": "\(error)"])
        }
        await ingress?.stop(within: time.part(15))
        await feed?.stop()
    }
}

extension Configuration {
    fileprivate func relayServer(isBlocked: @escaping @Sendable (String) -> Bool) -> RelayServerConfiguration {
        var server = RelayServerConfiguration()
        server.host = relay.host
        server.port = relay.port
        server.url = relay.url
        server.limits = relay.limits
        server.isTrustedProxy = relay.trustedProxies.contains
        server.isBlocked = isBlocked
        return server
    }

    /// The NIP-11 document; without `terms` as long as transports have not said theirs.
    func relayInformation(of key: PublicKey, _ terms: PushTerms? = nil) -> RelayInformation {
        var information = RelayInformation(
            name: relay.name,
            description: relay.description,
            pubkey: key.hex,
            contact: relay.contact,
            version: Version.current,
            limits: relay.limits
        )
        information.termsOfService = relay.termsOfService
        information.createdAtUpperLimit = PipelineSettings.clockTolerance.seconds
        information.push = terms
        return information
    }
}

extension EventVerdict {
    /// An error of our own passes, so the event may come again. What is wrong with an event does not.
    fileprivate var feedAnswer: FeedAnswer {
        guard case .refused(let message) = result else { return .taken }
        return MachineReadablePrefix(of: message) == .error ? .notNow : .refused(message)
    }
}
