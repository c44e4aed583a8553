import Cipher
import Core
import Delivery
import Foundation
import Logging
import Nostr
import Observability
import Operations
import Push
import Registry
import RouterConfiguration
import Storage

/// The databases: registrations, deliveries, traces.
struct Stores: RouterPart {
    let registry: Registry
    let outbox: Outbox
    /// Nil if the configuration disables it.
    let trace: TraceStore?
    /// Nil if whole events are not kept.
    let keptEvents: KeptEvents?
    private let claim: StoreClaim
    private let pluginStates: PluginStateKeeper
    private let tracePath: String
    private let keptEventsPath: String
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    /// `store` is the registry's store, to which `pluginStates` also writes.
    init(
        _ environment: RouterEnvironment,
        store: RegistryStore,
        pluginStates: PluginStateKeeper,
        platforms: PlatformCatalog,
        checks: RegistrationChecks,
        _ listeners: RegistryListeners
    ) throws {
        let (configuration, claim, log) = (environment.configuration, environment.claim, environment.log)
        let now = environment.now
        self.claim = claim
        self.pluginStates = pluginStates
        tracePath = configuration.store.tracePath
        keptEventsPath = configuration.store.keptEventsPath
        self.now = now
        logger = log.logger
        if let former = try RouterKeyStore(store).retireIfDue(by: claim.identity, now: now()) {
            logger.notice("Retired the router's former key", metadata: ["npub": "\(NIP19.npub(former.key))"])
        }
        registry = try Registry(
            store: store,
            identity: claim.identity,
            limits: configuration.relay.registrations,
            now: now,
            platforms: platforms,
            accessMode: configuration.access.mode,
            accessRules: configuration.access.rules,
            accessChanged: listeners.accessChanged,
            changed: listeners.accountsChanged,
            check: checks.address,
            checkSignal: checks.signal,
            pushCode: listeners.pushCode
        )
        outbox = try Outbox(
            path: configuration.store.outboxPath,
            limit: configuration.store.maxWaiting,
            deadLetters: configuration.deadLetters,
            damaged: log.damaged
        )
        trace = configuration.trace.map {
            TraceStore(path: configuration.store.tracePath, limits: $0, now: now, logger: log.logger)
        }
        keptEvents = configuration.trace?.keptEvents.map {
            KeptEvents(path: configuration.store.keptEventsPath, age: $0, now: now, logger: log.logger)
        }
    }

    /// The last advertisements of retired keys, which name their successors.
    var formerAdvertisements: [Event] {
        get throws {
            try registry.keys.names.retired.flatMap { try registry.storedEvents(of: $0.key) }
                .filter { $0.kind == .notificationRelay }
        }
    }

    func start() {
        // With `off` a store keeps no data, not even data from an earlier run.
        if trace == nil { TraceStore.discard(path: tracePath, logger: logger) }
        if keptEvents == nil { KeptEvents.discard(path: keptEventsPath) }
    }

    /// Drops dead letters that expired or whose device is no longer registered, including those of `partitions`. Reads
    /// and writes the disk.
    func pruneDeadLetters(with partitions: [any DeliveryStore], _ logger: Logger) {
        let directory = RegisteredDevices(registry: registry)
        do {
            for store in [outbox] + partitions {
                try store.pruneDeadLetters(at: now()) { try directory.address(of: $0) != nil }
            }
        } catch {
            logger.warning("Failed to remove old failed deliveries; retrying", metadata: ["error": "\(error)"])
        }
    }

    func stop(_ time: StopBudget) {
        trace?.close()
        keptEvents?.close()
        outbox.settle()
        pluginStates.flush()
        registry.store.settle()
        claim.release()
    }
}
