import CarillonRouter
import Core
import Delivery
import Logging
import NIOCore
import NIOPosix
import Nostr
import Operations
import RouterConfiguration
import Storage

/// A router's connection to the servers of its cluster. The servers were checked, and the settings that all members
/// share agree.
package final class ClusterLink: Sendable {
    /// The number of checks while the servers are starting and have no leader yet.
    private static let looks = 20
    /// How long servers may take to create streams: they elect a leader for each.
    private static let timeout: Duration = .seconds(45)

    /// The message channel to the other members, authenticated with the router's key.
    let line: MemberLine
    let settings: ClusterMember.Settings
    let partitioning: Partitioning
    /// The limits of one partition's dead letters: its share of the configured ones.
    let deadLetters: DeadLetterLimits
    /// The lock on this member's store.
    let claim: StoreClaim
    private let group: MultiThreadedEventLoopGroup

    private init(
        _ line: MemberLine,
        _ settings: ClusterMember.Settings,
        _ partitioning: Partitioning,
        _ deadLetters: DeadLetterLimits,
        _ claim: StoreClaim,
        _ group: MultiThreadedEventLoopGroup
    ) {
        self.deadLetters = deadLetters
        self.line = line
        self.settings = settings
        self.partitioning = partitioning
        self.claim = claim
        self.group = group
    }

    /// Joins with a store; nil: the configuration has no cluster. Throws an `OperationError` that names the obstacle.
    /// `isTransfer`: for a transfer between a store and the cluster, during which no member may join.
    package static func join(
        _ configuration: Configuration,
        _ claim: StoreClaim,
        isTransfer: Bool = false,
        logger: Logger
    ) async throws -> ClusterLink? {
        guard let cluster = configuration.cluster else { return nil }
        try await check(cluster, claim.identity, logger)
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
        // All partitions together fill at most half of the stream before snapshots truncate their logs.
        settings.log.snapshotBytes = min(settings.log.snapshotBytes, cluster.capacity.log / 2 / cluster.partitions)
        settings.configuration = configuration.file.flatMap(cluster.fingerprint) ?? ""
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var random = SystemRandomNumberGenerator()
        var servers = try cluster.settings()
        servers.oldestVersion = ClusterCheck.oldestVersion
        let client = try NATSClient(servers, loop: group.next(), random: &random, log: logger) { _ in }
        client.start()
        let line = MemberLine(client, seal(claim.identity, logger))
        let deadline = Deadline.now() + timeout
        while true {
            do {
                let partitioning = try await ClusterMember.prepare(settings, line: line, isTransfer: isTransfer)
                return ClusterLink(line, settings, partitioning, deadLetters, claim, group)
            } catch let error as NATSError where Deadline.now() < deadline {
                logger.notice("Waiting for the cluster's servers", metadata: ["reason": "\(error)"])
                try await Task.sleep(for: .milliseconds(500))
            } catch {
                client.close()
                try? await group.shutdownGracefully()
                throw OperationError.unavailable("cluster: \(error)")
            }
        }
    }

    /// Runs the checks of `carillon cluster check`.
    private static func check(_ cluster: Configuration.Cluster, _ identity: KeyPair, _ logger: Logger) async throws {
        var report = try await ClusterCheck(cluster, identity).run()
        for _ in 0..<looks where !report.isUsable {
            try await Task.sleep(for: .milliseconds(500))
            report = try await ClusterCheck(cluster, identity).run()
        }
        guard report.isUsable else {
            throw OperationError.unavailable("cluster: " + report.problems.joined(separator: "; "))
        }
        for finding in report.findings { logger.info("The cluster's servers", metadata: ["finding": "\(finding)"]) }
    }

    private static func seal(_ identity: KeyPair, _ logger: Logger) -> MemberSeal {
        let foreign = ErrorLog(
            "A message that no member of the cluster wrote was passed over",
            level: .warning,
            logger: logger
        )
        return MemberSeal(secret: identity.secret.reveal()) { foreign.occurred(ForeignMessageError(), at: .now()) }
    }

    func close() async {
        line.client.close()
        try? await group.shutdownGracefully()
    }
}
