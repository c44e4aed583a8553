import Console

/// A router's cluster, as this member sees it.
package struct ClusterStatus: OperatorAnswer, Equatable {
    package struct Member: Codable, Sendable, Equatable {
        package var name: String
        /// Partitions that it owns.
        package var partitions: Int
        /// It hands its partitions over and takes none.
        package var isLeaving: Bool
        /// The newest format that it reads.
        package var wire: Int
        /// Whether its configuration is that of the member that was asked.
        package var hasSameConfiguration: Bool

        package init(name: String, partitions: Int, isLeaving: Bool, wire: Int, hasSameConfiguration: Bool) {
            self.name = name
            self.partitions = partitions
            self.isLeaving = isLeaving
            self.wire = wire
            self.hasSameConfiguration = hasSameConfiguration
        }
    }

    package struct Partition: Codable, Sendable, Equatable {
        package var partition: Int
        /// Nil: nobody that is known here.
        package var owner: String?
        /// Deliveries that wait, where the member that was asked owns it.
        package var waiting: Int?

        package init(partition: Int, owner: String?, waiting: Int?) {
            self.partition = partition
            self.owner = owner
            self.waiting = waiting
        }
    }

    /// The member that was asked.
    package var name: String
    package var prefix: String
    package var isConnected: Bool
    /// Changes of the registry that it has.
    package var registry: Int
    package var members: [Member]
    package var partitions: [Partition]

    package init(
        name: String,
        prefix: String,
        isConnected: Bool,
        registry: Int,
        members: [Member],
        partitions: [Partition]
    ) {
        self.name = name
        self.prefix = prefix
        self.isConnected = isConnected
        self.registry = registry
        self.members = members
        self.partitions = partitions
    }

    /// Partitions that nobody works on, as far as is known here.
    package var ownerless: Int { partitions.count { $0.owner == nil } }

    /// Partitions that the member that was asked works on.
    package var owned: Int { partitions.count { $0.waiting != nil } }

    package var waiting: Int { partitions.reduce(0) { $0 + ($1.waiting ?? 0) } }

    package var text: String {
        var lines = [
            "member \(name) of the cluster \(prefix)" + (isConnected ? "" : ", without a connection to NATS"),
            "changes of the registry: \(registry)",
        ]
        lines += members.map { member in
            "\(member.name): \(member.partitions) partitions" + (member.isLeaving ? ", leaving" : "")
                + (member.hasSameConfiguration ? "" : ", with another configuration")
        }
        lines += partitions.map { partition in
            "partition \(partition.partition): \(partition.owner ?? "nobody")"
                + (partition.waiting.map { ", \($0) waiting" } ?? "")
        }
        if ownerless > 0 { lines.append("problem: \(ownerless) partitions have no owner") }
        return lines.joined(separator: "\n")
    }
}

extension MetricFamily {
    /// Nothing where the router serves alone.
    static func cluster(_ status: ClusterStatus?) -> [MetricFamily] {
        guard let status else { return [] }
        let member: KeyValuePairs<String, String> = ["member": status.name]
        var owned = MetricFamily(
            "carillon_cluster_partitions",
            .gauge,
            "Partitions of the cluster that this member owns."
        )
        owned.add(status.owned, member)
        var ownerless = MetricFamily(
            "carillon_cluster_partitions_without_owner",
            .gauge,
            "Partitions of the cluster that no living member owns, as this one sees it."
        )
        ownerless.add(status.ownerless, member)
        var members = MetricFamily("carillon_cluster_members", .gauge, "Living members of the cluster.")
        members.add(status.members.count, member)
        var waiting = MetricFamily(
            "carillon_cluster_waiting",
            .gauge,
            "Deliveries that wait in the partitions that this member owns."
        )
        waiting.add(status.waiting, member)
        return [owned, ownerless, members, waiting]
    }
}
