import Cluster
import Delivery
import Logging
import Nostr
import Operations
import Pipeline
import PluginHost
import Registry
import RouterConfiguration
import Storage
import Units

/// What the parts of a cluster's member share before there is a ``ClusterPart``, which is made of them.
struct ClusterMembership: Sendable {
    let link: ClusterLink
    /// To the other members, by the router's key.
    let line: MemberLine
    /// Of the partitions that this member owns.
    let intakes: PartitionIntakes
    /// The relays of all members.
    let relays: ClusterRelays

    init(_ link: ClusterLink, identity: KeyPair, logger: Logger, now: @escaping @Sendable () -> Timestamp) {
        self.link = link
        let trouble = FailureLog(
            "A message that no member of the cluster wrote was passed over",
            level: .warning,
            logger: logger
        )
        line = link.line(by: identity, passed: { trouble.occurred(ForeignMessageError(), at: now()) }, now: now)
        intakes = PartitionIntakes()
        relays = ClusterRelays(link, line, partitions: intakes)
    }
}

extension PartitionParts {
    /// Those of a router. Partitions go by the settings in force when they are opened.
    init(
        _ membership: ClusterMembership,
        stores: Stores,
        settings: ActiveSettings,
        outgoing: Outgoing,
        dependencies: PipelineDependencies,
        observers: RouterObservers,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        let plugins = outgoing.plugins
        self.init(
            registry: stores.registry,
            settings: { settings.pipeline(plugins.platformCatalog, plugins: plugins).ofPartition },
            dependencies: dependencies,
            ruledEvents: stores.keptEvents,
            transports: outgoing.transports,
            observers: observers,
            order: { Notifier.order(of: $0, settings.rules, KnownPlatforms(plugins)) },
            deliveryID: try DeliveryIDs(stores.registry.keys.seeds).id,
            limit: settings.configuration.mostWaiting,
            deadLetters: membership.link.deadLetters,
            now: now,
            logger: logger
        )
    }
}

extension PipelineSettings {
    /// The same for the pipeline of a partition: the file of contexts belongs to the pipeline that hands over.
    var ofPartition: PipelineSettings {
        var settings = self
        settings.contextPath = nil
        return settings
    }
}
