import Core
import Delivery
import HTTPClient
import Logging
import Operations
import Pipeline
import Registry
import RelayServer
import Relays
import RouterConfiguration
import Rules
import WebIngress

/// The half of the router that turns events into pushes: sources, pipeline, stores, courier. It does not depend on the
/// other half, the ``ControlPlane``.
struct DataPlane: Sendable {
    let environment: RouterEnvironment
    let settings: ActiveSettings
    let outgoing: Outgoing
    let stores: Stores
    let watchers: Watchers
    let deliveries: Deliveries
    let entrance: Entrance
    let relays: Relays
    let sockets: Sockets
    let events: Events
    let accessDeadline: AccessDeadline

    /// Opens everything in the store, but sends nothing yet. `known` are the platforms of the loaded plugins. Throws
    /// the errors of ``Router``.
    init(_ environment: RouterEnvironment, platforms known: KnownPlatforms?) throws {
        self.environment = environment
        let (configuration, membership) = (environment.configuration, environment.membership)
        let (now, logger) = (environment.now, environment.logger)
        entrance = Entrance(RouterCounts(now: now), logger)
        let listeners = RegistryListeners(name: configuration.relay.name, now: now, logger: logger)

        // Plugin instances read their stored state as soon as they are made.
        let (store, pluginStates) = try Self.openRegistry(environment)
        outgoing = try Outgoing(environment, states: pluginStates)
        let platforms = known ?? KnownPlatforms(outgoing.plugins)
        let rules = try RulesFiles(configuration, platforms).read()
        let ingressPlatform = try configuration.servedIngress(platforms, logger)
        logger.warn(of: ExposedFiles(configuration, platforms.catalog))
        settings = ActiveSettings(startingWith: configuration, rules, outgoing, logger)
        stores = try Stores(
            environment,
            store: store,
            pluginStates: pluginStates,
            platforms: platforms.catalog,
            checks: RegistrationChecks(outgoing: outgoing, settings: settings),
            listeners
        )
        let registry = stores.registry
        if let membership { try registry.join(membership.registryLog, name: "\(DeliveryIDs.fresh())") }
        watchers = try Watchers(environment, settings: settings, stores: stores, outgoing: outgoing, entrance.counts)
        deliveries = try Deliveries(environment, stores, outgoing.transports, watchers.all, entrance.intake)
        listeners.pushCodes(by: deliveries.courier)
        relays = try Relays(environment, settings, registry, listeners, entrance, outgoing)
        let dependencies = try PipelineDependencies(environment, registry, relays, observer: watchers.all)
        if let membership {
            membership.work(
                with: OwnerParts(stores, settings, outgoing, dependencies, watchers.all),
                failed: environment.stop.fail
            )
            deliveries.courier.count { membership.stores.map(\.courier) }
        }
        sockets = try Sockets(
            environment,
            stores,
            relays.advertising,
            ingress: ingressPlatform.flatMap { [trials = watchers.trials, courier = deliveries.courier] platform in
                SealedIngressBackend(environment, platform, registry: registry, courier: courier, trials: trials)
            },
            entrance,
            outgoing.group
        )
        accessDeadline = AccessDeadline(end: registry.endAccessRules, now: now, logger: logger)
        listeners.followAccess { [relays, accessDeadline, sockets] access in
            relays.follow(access)
            accessDeadline.follow(access.nextEnd)
            sockets.follow(access)
        }
        let ofEvents = try dependencies.forAllEvents(environment, deliveries, relays, sockets)
        events = try Events(environment, entrance, settings.pipeline(platforms.catalog), deliveries, ofEvents)
    }

    /// The registry's database, and the plugins' data in it. A cluster member starts with the cluster's registry.
    private static func openRegistry(_ environment: RouterEnvironment) throws -> (RegistryStore, PluginStateKeeper) {
        let path = environment.configuration.store.path
        let store = try RegistryStore(path: path, damaged: environment.log.damaged)
        if let membership = environment.membership {
            try store.takeSnapshot(of: membership.registryLog)
        } else if try store.isShared() {
            throw RouterError.storeOfMember
        }
        let states = PluginStateKeeper(
            try PluginStateTable(store: store, identity: environment.claim.identity),
            now: environment.now,
            logger: environment.logger
        )
        return (store, states)
    }
}

/// The entrance for events from all sources.
struct Entrance: Sendable {
    let counts: RouterCounts
    let intake: Intake
    /// Drops events that concern no account before they enter the pipeline.
    let screen: EventScreen

    init(_ counts: RouterCounts, _ logger: Logger) {
        self.counts = counts
        intake = Intake(answered: counts.answered)
        screen = EventScreen(logger: logger, passed: counts.passedOver)
    }
}
