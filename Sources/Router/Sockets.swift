import Cipher
import Console
import Core
import Delivery
import Dispatch
import Listeners
import Logging
import NIOCore
import Nostr
import Operations
import Pipeline
import Push
import Registry
import RelayServer
import Relays
import RouterConfiguration
import Synchronization
import WebIngress

/// The inputs to which others send events and pushes: the relay socket, the sealed ingress, the feed.
final class Sockets: RouterPart {
    private struct State {
        var listener: RelayListener?
        var ingressPort: Int?
    }

    let server: RelayServer
    /// Connection counts of all the router's listeners, including the API's.
    let counts: ListenerCounts
    /// Passes requests of NIP-46 sessions about their own accounts.
    let ownQuestions = OwnQuestions()
    private let networks = NetworkAccess()
    private let ingress: HTTPServer?
    private let feed: Feed?
    private let feedEnded: @Sendable (FeedCounts) -> Void
    private let hasFeedEnded = SharedFlag()
    private let configuration: Configuration
    private let state = Mutex(State())
    private let logger: Logger

    init(
        _ environment: RouterEnvironment,
        _ stores: Stores,
        _ advertising: [Advertising],
        ingress: SealedIngressBackend?,
        _ entrance: Entrance,
        _ group: any EventLoopGroup
    ) throws {
        let (configuration, now) = (environment.configuration, environment.now)
        let (stop, logger) = (environment.stop, environment.logger)
        self.configuration = configuration
        self.logger = logger
        counts = ListenerCounts(
            socket: LimitCounts(RelayServer.clientLimits),
            ingress: configuration.sealedIngress.map { _ in LimitCounts(WebIngressConfiguration.clientLimits) },
            api: configuration.api.map { _ in LimitCounts(ConsoleConfiguration.clientLimits) }
        )
        var relayServer = configuration.relayServer(isBlocked: networks.isBlocked)
        relayServer.site = try configuration.subscribePage?.site(socketURL: configuration.relay.url)
        relayServer.counts = counts.socket
        server = RelayServer(
            configuration: relayServer,
            information: configuration.relayInformation(of: stores.registry.keys.names.current.key),
            backend: try SocketBackend(entrance.intake, stores, advertising, isListed: networks.isAllowed, logger),
            group: group,
            now: now,
            logger: logger
        )
        if let ingress, let settings = configuration.sealedIngress {
            var web = settings.web
            web.isBlocked = networks.isBlocked
            web.counts = counts.ingress ?? LimitCounts()
            self.ingress = HTTPServer(
                configuration: web,
                platform: ingress.platform,
                keep: ingress.keep,
                // A single loop: swift-nio's generic decoders may crash if several loops first use them together.
                loop: group.next(),
                now: now,
                logger: logger
            )
        } else {
            self.ingress = nil
        }
        feedEnded = { [hasFeedEnded, stopsAtEnd = configuration.feed?.stopsAtEnd ?? false] _ in
            hasFeedEnded.set(true)
            logger.notice(stopsAtEnd ? "Stopping because the feed has ended" : "Continuing without the feed")
            if stopsAtEnd { stop.send() }
        }
        feed = try configuration.feed.map { try Self.feed(from: $0.path, into: entrance, logger) }
    }

    private static func feed(from path: String, into entrance: Entrance, _ logger: Logger) throws -> Feed {
        try Feed(
            FeedInput(path: path),
            prefilter: { [screen = entrance.screen] in screen.prefilter(of: .feed) },
            submit: { [intake = entrance.intake] events, completion in
                let submission = Submission(events: events, source: .feed) { completion($0.map(\.feedAnswer)) }
                intake.submit(submission)
            },
            now: Deadline.now,
            logger: logger
        )
    }

    /// The port of the relay socket; nil before it listens.
    var port: Int? { state.withLock { $0.listener?.port } }

    /// Whether a feed delivers events or the sealed ingress takes pushes.
    var hasSource: Bool { ingress != nil || (feed != nil && !hasFeedEnded.isSet) }

    /// The port of the sealed ingress; nil before it listens, and if there is none.
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
            logger.info("Listening for push messages", metadata: ["address": "\(web.host):\(port)"])
        } catch {
            let key = configuration.environment != nil ? "PORT" : "sealed_ingress.listen"
            throw RouterError.cannotListen(key, host: web.host, port: web.port, error)
        }
    }

    /// Applies these rules about networks to new and existing connections.
    func follow(_ access: AccessList) {
        if networks.follow(access) { server.endBlockedConnections() }
    }

    func start() {
        feed?.start(ended: feedEnded)
    }

    func stop(_ time: StopBudget) async {
        do {
            try await state.withLock { $0.listener }?.close()
        } catch {
            logger.warning("Failed to close the relay socket", metadata: ["error": "\(error)"])
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

    /// The NIP-11 document; `terms` is nil until the transports have reported theirs.
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

extension EventDecision {
    /// An error of the router is temporary, so the event may come again. An error in the event is permanent.
    fileprivate var feedAnswer: FeedAnswer {
        guard case .refused(let message) = result else { return .taken }
        return MachineReadablePrefix(of: message) == .error ? .notNow : .refused(message)
    }
}

/// The relay socket's backend: the pipeline's intake, and the few events that are served.
struct SocketBackend: RelayBackend {
    /// A separate queue, because readers may wait for the disk and the threads that tasks share must not block.
    private static let reading = DispatchQueue(label: "carillon.socket-reading")

    private let registry: Registry
    private let intake: Intake
    private let advertising: [Advertising]
    /// The last advertisements of retired keys.
    private let formerAdvertisements: [Event]
    private let isListed: @Sendable (_ address: String) -> Bool
    private let logger: Logger

    /// `isListed` returns whether clients from an address may register without being listed by key.
    init(
        _ intake: Intake,
        _ stores: Stores,
        _ advertising: [Advertising],
        isListed: @escaping @Sendable (_ address: String) -> Bool,
        _ logger: Logger
    ) throws {
        (self.intake, registry, self.advertising) = (intake, stores.registry, advertising)
        formerAdvertisements = try stores.formerAdvertisements
        (self.isListed, self.logger) = (isListed, logger)
    }

    func submit(
        _ events: [[UInt8]],
        authenticated: Set<PublicKey>,
        client: String?,
        completion: @escaping @Sendable ([EventAnswer]) -> Void
    ) {
        let source = EventSource.socket(authenticated: authenticated, isListed: client.map(isListed) ?? false)
        let submission = Submission(events: events, source: source) { decisions in
            completion(decisions.map(\.answer))
        }
        intake.submit(submission)
    }

    func storedEvents(matching filters: [Filter], authenticated: Set<PublicKey>) async -> [[UInt8]] {
        await withCheckedContinuation { continuation in
            Self.reading.async { continuation.resume(returning: read(filters, authenticated)) }
        }
    }

    private func read(_ filters: [Filter], _ authenticated: Set<PublicKey>) -> [[UInt8]] {
        let own = authenticated.flatMap { author in
            do {
                return try registry.storedEvents(of: author)
            } catch {
                logger.error("Failed to read registrations", metadata: ["error": "\(error)"])
                return []
            }
        }
        let advertisements = advertising.compactMap(\.event) + formerAdvertisements
        return StoredEvents.select(from: own + advertisements, filters: filters).map(\.json)
    }
}

extension EventDecision {
    fileprivate var answer: EventAnswer {
        switch result {
        case .accepted: EventAnswer(id: id, accepted: true)
        case .duplicate: EventAnswer(id: id, accepted: true, message: "duplicate: already have this event")
        case .outdated: EventAnswer(id: id, accepted: true, message: "duplicate: a newer list of this author is known")
        case .refused(let message): EventAnswer(id: id, accepted: false, message: message)
        }
    }
}

/// Answers a REQ from a handful of events (NIP-01).
enum StoredEvents {
    /// The events that match any of `filters`: for each filter its newest up to its limit, merged newest first, the
    /// lower id first if two have the same second.
    static func select(from events: [Event], filters: [Filter]) -> [Event] {
        let sorted = events.sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        var chosen: Set<EventID> = []
        for filter in filters {
            let matching = sorted.lazy.filter(filter.matches)
            chosen.formUnion(matching.prefix(filter.limit ?? sorted.count).map(\.id))
        }
        return sorted.filter { chosen.contains($0.id) }
    }
}

/// Forwards requests of NIP-46 sessions to the part that answers accounts about themselves, which is made later.
final class OwnQuestions: Sendable {
    private struct NotYet: Error, CustomStringConvertible {
        let description = "503 the router is starting: try again in a moment"
    }

    private let session = Mutex<OwnSession?>(nil)

    func begin(_ session: OwnSession) { self.session.withLock { $0 = session } }

    func answer(_ proof: String, _ body: String, _ client: PublicKey) async -> Result<String, any Error> {
        guard let session = session.withLock({ $0 }) else { return .failure(NotYet()) }
        return await session.answer(proof: proof, body: body, client: client).mapError { $0 }
    }
}
