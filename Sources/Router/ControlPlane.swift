import Console
import Core
import Delivery
import Logging
import Nostr
import Operations
import PluginHost
import Registry
import Relays
import RouterConfiguration
import Storage
import Synchronization

/// The half of the router that serves operators and users. It reports on the other half, the ``DataPlane``, and
/// controls it.
struct ControlPlane {
    /// Whether the router serves; false while it starts or stops.
    let serving = SharedFlag()
    let health: RouterHealth
    /// The API, and the command socket for this machine.
    let operators: Operators

    /// Starts to answer other members and NIP-46 sessions, and to send operational events. `levels` are the log's
    /// levels; `endpoints` are additional endpoints of the API.
    init(
        _ plane: DataPlane,
        apiToken: ActiveAPIToken,
        levels: LogLevels,
        reloader: Reloader,
        endpoints: (MemberSurvey) -> [APIOperation]
    ) throws {
        let (environment, watchers) = (plane.environment, plane.watchers)
        let (configuration, now, membership) = (environment.configuration, environment.now, environment.membership)
        let files = OperatorFiles(
            configuration: configuration,
            trace: plane.stores.trace,
            partitions: { membership?.stores.map(\.reader) ?? [] },
            isCause: { membership?.isCause($0) ?? false }
        )
        health = plane.health(serving, reloader)
        let status = plane.status(health, files)
        let survey = MemberSurvey(peers: membership?.peers)
        let kept = KeptEventPages(plane.stores.keptEvents, path: configuration.store.keptEventsPath, survey, now: now)
        let devices = try plane.devices(files)
        let users = UserOperations(devices)
        let view = try plane.view(survey, devices, users, status, files)
        membership?.answer(by: survey, watchers.stream)
        let notifier = plane.notifier
        watchers.operationalEvents.begin(status, notifier: notifier) { [settings = plane.settings] in settings.rules }

        let port = ListeningAPI(configuration.api)
        let tokens = plane.tokens(apiToken)
        let sessions = plane.sessions(tokens)
        let owners = plane.owners(port)
        let api = RouterAPI(
            notifier: notifier,
            kept: kept,
            view: view,
            status: status,
            metrics: plane.metrics(health),
            sessions: sessions,
            logs: LogOperations(levels: levels),
            more: endpoints(survey),
            stream: watchers.stream,
            rules: { [settings = plane.settings] in (settings.configuration, settings.rules) },
            reload: reloader.reload
        )
        plane.sockets.ownQuestions.begin(OwnSession(api.operations, owners: owners, now: now))
        operators = Operators(
            plane,
            authenticator: RouterAuthenticator(
                tokens: tokens,
                sessions: sessions,
                signOn: configuration.api.flatMap(Self.signOn),
                owners: owners
            ),
            port: port,
            console: api
        )
    }

    private static func signOn(_ api: Configuration.API) -> ProxySignOn? {
        api.signOn.map {
            ProxySignOn($0, isTrustedProxy: api.trustedProxies.contains, url: api.console.inbound?.publicURL)
        }
    }
}

// MARK: Callers of the API

extension DataPlane {
    fileprivate func tokens(_ apiToken: ActiveAPIToken) -> CurrentTokens {
        CurrentTokens(
            TokenFile(environment.configuration),
            token: { apiToken.value },
            now: environment.now,
            logger: environment.logger
        )
    }

    fileprivate func sessions(_ tokens: CurrentTokens) -> BrowserSessions {
        BrowserSessions(
            principal: tokens.principal(ofDigest:),
            url: environment.configuration.api?.console.inbound?.publicURL,
            now: environment.now
        )
    }

    fileprivate func owners(_ port: ListeningAPI) -> OwnerAuthenticator {
        OwnerAuthenticator(
            urls: { [keys = stores.registry.keys] in
                port.urls + keys.answering.map { OwnSession.url(of: $0.publicKey) }
            },
            now: environment.now
        )
    }
}

// MARK: Health, status and metrics

extension DataPlane {
    fileprivate func health(_ serving: SharedFlag, _ reloader: Reloader) -> RouterHealth {
        let (configuration, now, membership) = (environment.configuration, environment.now, environment.membership)
        return RouterHealth(
            IncomingParts(
                pipeline: events.pipeline,
                intake: entrance.intake,
                pool: relays.pool,
                counts: entrance.counts,
                listeners: sockets.counts,
                keys: DeviceKeyCounts(registry: stores.registry, now: now)
            ),
            OutgoingParts(
                courier: deliveries.courier,
                outbox: stores.outbox,
                transports: outgoing.transports,
                plugins: outgoing.plugins,
                lanes: outgoing.lanes
            ),
            storePath: configuration.store.path,
            group: outgoing.group
        ) { [sockets, settings, isHere = relays.isHere] in
            var facts = HealthFacts()
            facts.isServing = serving.isSet && membership?.isServing ?? true
            facts.wantedRelays = Set(configuration.relays.always.filter(isHere))
            // Other members may read the relays.
            facts.hasSource = sockets.hasSource || !configuration.relays.always.isEmpty
            facts.filterFailures = settings.filters.failures
            facts.refusedReload = reloader.refused
            facts.issues = membership?.issues(at: now()) ?? []
            return facts
        }
    }

    fileprivate func status(_ health: RouterHealth, _ files: OperatorFiles) -> StatusReader {
        StatusReader(
            health,
            environment.configuration,
            files: files,
            partitions: { [membership = environment.membership] in
                (membership?.stores ?? [])
                    .reduce((0, 0)) { ($0.0 + $1.store.outbox.count, $0.1 + $1.store.outbox.deadLetterCount) }
            },
            mark: relays.watch.mark,
            now: environment.now
        )
    }

    fileprivate func metrics(_ health: RouterHealth) -> RouterMetrics {
        RouterMetrics(
            health,
            filterNames: { [settings] in settings.configuration.filters.map(\.name) },
            trace: stores.trace,
            tracer: watchers.spans.tracer,
            member: { [membership = environment.membership] in membership?.figures }
        )
    }
}

/// A flag that several parts share.
final class SharedFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}

// MARK: Operations of operators, users and senders

extension DataPlane {
    fileprivate func devices(_ files: OperatorFiles) throws -> DeviceOperations {
        let reader = DeviceReader(
            registry: stores.registry,
            files: files,
            configuration: { [settings, plugins = outgoing.plugins] in
                settings.configuration.limited(by: plugins.platformCatalog)
            },
            deliveryID: try DeliveryIDs(stores.registry.keys.seeds).id,
            now: environment.now
        )
        return DeviceOperations(reader, services: RunningServices(outgoing.transports, outgoing.plugins))
    }

    fileprivate func view(
        _ survey: MemberSurvey,
        _ devices: DeviceOperations,
        _ users: UserOperations,
        _ status: StatusReader,
        _ files: OperatorFiles
    ) throws -> MemberView {
        let traceIDs = try environment.configuration.traceIDs(stores.registry.keys.seeds)
        let events = EventOperations(devices.reader, traceIDs: traceIDs)
        return MemberView(
            survey,
            queue: queue(devices.reader, files),
            events: events,
            users: users,
            own: try own(devices, events, status),
            status: status,
            statistics: watchers.statistics
        )
    }

    private func queue(_ reader: DeviceReader, _ files: OperatorFiles) -> QueueOperations {
        QueueOperations(
            reader,
            .running {
                [
                    reader = files.outbox.own, courier = deliveries.courier, outbox = stores.outbox,
                    membership = environment.membership
                ] in
                let place = membership.map { StorePlace.outbox(of: $0.peers.name) } ?? .alone
                return (membership?.stores ?? []) + [WorkingStore(place, courier, outbox, reader)]
            }
        )
    }

    private func own(
        _ devices: DeviceOperations,
        _ events: EventOperations,
        _ status: StatusReader
    ) throws -> OwnOperations {
        try OwnOperations(
            devices: devices,
            events: events,
            status: status,
            configuration: { [settings] in settings.configuration },
            pausedUntil: { [courier = deliveries.courier, membership = environment.membership] device, address in
                ([courier] + (membership?.stores.map(\.courier) ?? []))
                    .compactMap { $0.pausedUntil(device, at: address) }.max()
            }
        )
    }

    fileprivate var notifier: Notifier {
        Notifier(
            RequestQueue(
                stores.outbox,
                entrance.intake,
                timeout: environment.membership == nil ? nil : RequestQueue.ownerTimeout,
                now: environment.now
            ),
            registry: stores.registry,
            identity: environment.claim.identity,
            shared: environment.membership?.requests,
            // Filters get whole events. Events kept for `rules diff` do not matter: no rule decides about requested
            // ones.
            mustSign: { [settings] in !settings.configuration.filters.isEmpty },
            now: environment.now
        )
    }
}
