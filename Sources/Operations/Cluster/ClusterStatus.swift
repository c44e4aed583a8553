import Console
import Units

/// A router's cluster, as this member sees it.
package struct ClusterStatus: OperatorAnswer, Equatable {
    package struct Member: Codable, Sendable, Equatable {
        package var name: String
        /// Partitions that it owns.
        package var partitions: Int
        /// False: it went away without a word.
        package var isLiving: Bool
        /// It hands its partitions over and takes none, since it stops.
        package var isLeaving: Bool
        /// It owns none as long as others can, since an operator drained it.
        package var isDrained: Bool
        /// Of Carillon.
        package var version: String?
        /// The newest format that it reads.
        package var wire: Int
        /// When it started.
        package var since: String?
        /// A hash of its configuration; empty: it has no file.
        package var configuration: String
        /// Whether its configuration is that of the member that was asked.
        package var hasSameConfiguration: Bool

        package init(
            name: String,
            partitions: Int,
            isLiving: Bool = true,
            isLeaving: Bool = false,
            isDrained: Bool = false,
            version: String? = nil,
            wire: Int,
            since: Timestamp? = nil,
            configuration: String = "",
            hasSameConfiguration: Bool
        ) {
            self.name = name
            self.partitions = partitions
            self.isLiving = isLiving
            self.isLeaving = isLeaving
            self.isDrained = isDrained
            self.version = version
            self.wire = wire
            self.since = since.map { UTCTime($0).stamp }
            self.configuration = configuration
            self.hasSameConfiguration = hasSameConfiguration
        }

        /// How it stands with it, in words.
        fileprivate var words: String {
            if !isLiving { return "went away without a word" }
            if isLeaving { return "leaving" }
            return isDrained ? "drained" : "in service"
        }
    }

    package struct Partition: Codable, Sendable, Equatable {
        package var partition: Int
        /// Nil: nobody that is known here.
        package var owner: String?
        /// Deliveries that wait, where its owner says so.
        package var waiting: Int?
        /// Where an operator wants it; nil: nobody said.
        package var movedTo: String?

        package init(partition: Int, owner: String?, waiting: Int?, movedTo: String? = nil) {
            self.partition = partition
            self.owner = owner
            self.waiting = waiting
            self.movedTo = movedTo
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
    /// Deliveries that were due in partitions which the member that was asked took over from one that had not handed
    /// over, since it started: they may have been sent before, under the same id.
    package var repeats: Int
    /// Messages over NATS that no member wrote, which the member that was asked passed over since it started.
    package var passedOver: Int
    /// Who was asked how much waits; nil: nobody but this member.
    package var asked: MembersAsked?

    package init(
        name: String,
        prefix: String,
        isConnected: Bool,
        registry: Int,
        members: [Member],
        partitions: [Partition],
        repeats: Int = 0,
        passedOver: Int = 0
    ) {
        self.name = name
        self.prefix = prefix
        self.isConnected = isConnected
        self.registry = registry
        self.members = members
        self.partitions = partitions
        self.repeats = repeats
        self.passedOver = passedOver
    }

    /// Partitions that nobody works on, as far as is known here.
    package var ownerless: Int { partitions.count { $0.owner == nil } }

    /// Partitions that the member that was asked works on.
    package var owned: Int { partitions.count { $0.waiting != nil } }

    /// How much waits, by partition, in those that the member that was asked works on.
    var waitingByPartition: [Int: Int] {
        partitions.reduce(into: [:]) { $0[$1.partition] = $1.waiting }
    }

    package var waiting: Int { partitions.reduce(0) { $0 + ($1.waiting ?? 0) } }

    package var text: String {
        var lines = [
            "member \(name) of the cluster \(prefix)" + (isConnected ? "" : ", without a connection to NATS"),
            "changes of the registry: \(registry)",
        ]
        lines += members.map { member in
            "\(member.name): \(member.partitions) partitions"
                + (member.words == "in service" ? "" : ", \(member.words)")
                + (member.hasSameConfiguration ? "" : ", with another configuration")
        }
        lines += partitions.map { partition in
            "partition \(partition.partition): \(partition.owner ?? "nobody")"
                + (partition.waiting.map { ", \($0) waiting" } ?? "")
                + (partition.movedTo.map { ", moved to \($0)" } ?? "")
        }
        lines += asked?.lines ?? []
        if passedOver > 0 { lines.append("problem: \(passedOver) messages were passed over that no member wrote") }
        if ownerless > 0 { lines.append("problem: \(ownerless) partitions have no owner") }
        return lines.joined(separator: "\n")
    }
}

/// The members of a router's cluster, side by side.
package struct MemberList: OperatorAnswer, Equatable {
    package var members: [ClusterStatus.Member]

    package init(_ status: ClusterStatus) { members = status.members }

    /// Whether something should be looked at: a member is missing, or differs.
    package var hasDifferences: Bool {
        members.contains { !$0.isLiving || !$0.hasSameConfiguration } || Set(members.map(\.wire)).count > 1
            || Set(members.compactMap(\.version)).count > 1
    }

    package var text: String {
        let head = ["MEMBER", "STATE", "PARTITIONS", "VERSION", "WIRE", "CONFIGURATION", "SINCE"]
        let rows = members.map { member in
            [
                member.name, member.words, "\(member.partitions)", member.version ?? "-", "\(member.wire)",
                (member.configuration.isEmpty ? "-" : member.configuration)
                    + (member.hasSameConfiguration ? "" : " (differs)"),
                member.since.map { "\($0.prefix(19))Z" } ?? "-",
            ]
        }
        return (TextTable.lines([head] + rows) + differences).joined(separator: "\n")
    }

    private var differences: [String] {
        var lines: [String] = []
        let versions = Set(members.compactMap(\.version)).sorted()
        if versions.count > 1 { lines.append("versions differ: \(versions.joined(separator: ", "))") }
        let wires = Set(members.map(\.wire)).sorted()
        if wires.count > 1 {
            lines.append("formats differ: \(wires.map(String.init).joined(separator: ", ")); the oldest is written")
        }
        if members.contains(where: { !$0.hasSameConfiguration }) {
            lines.append("configurations differ in more than names, addresses and folders")
        }
        return lines
    }
}

extension MetricFamily {
    /// Nothing where the router serves alone.
    static func cluster(_ status: ClusterStatus?) -> [MetricFamily] {
        guard let status else { return [] }
        var owned = MetricFamily(
            "carillon_cluster_partitions",
            .gauge,
            "Partitions of the cluster that this member owns."
        )
        owned.add(status.owned)
        var ownerless = MetricFamily(
            "carillon_cluster_partitions_without_owner",
            .gauge,
            "Partitions of the cluster that no living member owns, as this one sees it."
        )
        ownerless.add(status.ownerless)
        var members = MetricFamily("carillon_cluster_members", .gauge, "Living members of the cluster.")
        members.add(status.members.count(where: \.isLiving))
        var waiting = MetricFamily(
            "carillon_cluster_waiting",
            .gauge,
            "Deliveries that wait in the partitions that this member owns."
        )
        waiting.add(status.waiting)
        var repeats = MetricFamily(
            "carillon_cluster_repeats_total",
            .counter,
            "Deliveries that were due in partitions that this member took over from one that did not hand them over: at most so "
                + "many were sent twice, under one id."
        )
        repeats.add(status.repeats)
        return [owned, ownerless, members, waiting, repeats]
    }
}
