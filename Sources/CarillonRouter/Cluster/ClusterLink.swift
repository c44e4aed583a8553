import Cluster
import Delivery
import Logging
import NATS
import NIOCore
import NIOPosix
import Nostr
import Operations
import RouterConfiguration
import Schnorr
import Units

/// The servers of a cluster, as a router has them that is to be a member: connected, found fit, and agreed with the
/// other members on what never changes.
package final class ClusterLink: Sendable {
    /// Looks at servers that start together until one of them leads.
    private static let looks = 20
    /// How long servers may take to make streams: they elect a leader for each.
    private static let patience: Duration = .seconds(45)

    let client: NATSClient
    let settings: ClusterMember.Settings
    let partitioning: Partitioning
    /// What each partition keeps of deliveries that failed for good: its share of what the configuration keeps.
    let deadLetters: DeadLetterLimits
    private let group: MultiThreadedEventLoopGroup

    private init(
        _ client: NATSClient,
        _ settings: ClusterMember.Settings,
        _ partitioning: Partitioning,
        _ deadLetters: DeadLetterLimits,
        _ group: MultiThreadedEventLoopGroup
    ) {
        self.deadLetters = deadLetters
        self.client = client
        self.settings = settings
        self.partitioning = partitioning
        self.group = group
    }

    /// Nil: the configuration has no cluster. Throws an `OperationFailure` that says what stands against joining.
    /// `isTransfer`: the cluster is made of a store, or becomes one, which no member may join meanwhile.
    package static func join(
        _ configuration: Configuration,
        isTransfer: Bool = false,
        logger: Logger
    ) async throws -> ClusterLink? {
        guard let cluster = configuration.cluster else { return nil }
        try await check(cluster, logger)
        var settings = ClusterMember.Settings(name: cluster.name, layout: cluster.layout)
        settings.partitions = cluster.partitions
        settings.replicas = cluster.replicas
        settings.version = Version.current
        settings.startedAt = Timestamp.now().seconds
        var deadLetters = configuration.deadLetters
        if deadLetters.isOn { deadLetters.rows = max(1, deadLetters.rows / cluster.partitions) }
        settings.log.limits.deadLetters = deadLetters.isOn ? deadLetters.rows : 0
        settings.capacity = cluster.capacity
        settings.registryChanges = cluster.snapshotAfter
        settings.wire = cluster.wireVersion
        // All partitions together fill no more than half of the stream before they are snapshots.
        settings.log.snapshotBytes = min(settings.log.snapshotBytes, cluster.capacity.log / 2 / cluster.partitions)
        settings.configuration = configuration.fingerprintInCluster ?? ""
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var random = SystemRandomNumberGenerator()
        var servers = try cluster.settings()
        servers.oldestVersion = ClusterCheck.oldestVersion
        let client = try NATSClient(servers, loop: group.next(), random: &random, log: logger) { _ in }
        client.start()
        let deadline = Deadline.now() + patience
        while true {
            do {
                let partitioning = try await ClusterMember.prepare(
                    settings,
                    client: client,
                    isTransfer: isTransfer,
                    random: &random
                )
                return ClusterLink(client, settings, partitioning, deadLetters, group)
            } catch let error as NATSError where Deadline.now() < deadline {
                logger.notice("The cluster's servers are not ready yet", metadata: ["reason": "\(error)"])
                try await Task.sleep(for: .milliseconds(500))
            } catch {
                client.close()
                try? await group.shutdownGracefully()
                throw OperationFailure.unavailable("cluster: \(error)")
            }
        }
    }

    /// The same look at the servers that `carillon cluster check` takes.
    private static func check(_ cluster: Configuration.Cluster, _ logger: Logger) async throws {
        var report = try await ClusterCheck(cluster).run()
        for _ in 0..<looks where !report.isUsable {
            try await Task.sleep(for: .milliseconds(500))
            report = try await ClusterCheck(cluster).run()
        }
        guard report.isUsable else {
            throw OperationFailure.unavailable("cluster: " + report.problems.joined(separator: "; "))
        }
        for finding in report.findings { logger.info("The cluster's servers", metadata: ["finding": "\(finding)"]) }
    }

    /// To those who have the router's key. `passed` is called for each message of anybody else.
    func line(
        by identity: KeyPair,
        passed: @escaping @Sendable () -> Void = {},
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) -> MemberLine {
        MemberLine(client, MemberSeal(secret: identity.secret.reveal(), passed: passed, now: now))
    }

    func close() async {
        client.close()
        try? await group.shutdownGracefully()
    }
}
