import Console
import Core
import Operations
import RouterConfiguration

/// The state of a router's cluster, as this member sees it.
package struct ClusterStatus: OperatorAnswer, Equatable {
    package struct Member: Codable, Sendable, Equatable {
        package var name: String
        /// The number of partitions that it owns.
        package var partitions: Int
        /// Whether it is alive; false: it disappeared without leaving.
        package var isLiving = true
        /// Whether it is stopping: it hands its partitions over and takes none.
        package var isLeaving = false
        /// Whether an operator drained it: it owns none as long as other members can.
        package var isDrained = false
        /// Its version of Carillon.
        package var version: String?
        /// The newest format that it reads.
        package var wire: Int
        /// When it started.
        package var since: String?
        /// A hash of its configuration; empty: it has no configuration file.
        package var configuration = ""
        /// Whether its configuration equals the queried member's.
        package var hasSameConfiguration: Bool

        /// Its state as text.
        fileprivate var words: String {
            if !isLiving { return "went away without a word" }
            if isLeaving { return "leaving" }
            return isDrained ? "drained" : "in service"
        }
    }

    package struct Partition: Codable, Sendable, Equatable {
        package var partition: Int
        /// The owner; nil: unknown to this member.
        package var owner: String?
        /// Queued deliveries, if the owner reports them.
        package var waiting: Int?
        /// The owner that an operator chose; nil: none chosen.
        package var movedTo: String?
    }

    /// The name of the queried member.
    package var name: String
    package var prefix: String
    package var isConnected: Bool
    /// The position of the last registry change that it has.
    package var registry: Int
    package var members: [Member]
    package var partitions: [Partition]
    /// Deliveries that were due in partitions that the queried member took over from one that did not drain, since its
    /// start. They may have been sent twice, under the same ID.
    package var repeats = 0
    /// Messages over NATS that no member wrote and that the queried member rejected, since its start.
    package var passedOver = 0
    /// The members asked for queue lengths; nil: only this one.
    package var asked: MembersAsked?

    /// Partitions without a known owner.
    package var ownerless: Int { partitions.count { $0.owner == nil } }

    /// The number of partitions that the queried member works on.
    package var owned: Int { partitions.count { $0.waiting != nil } }

    /// The queue lengths of the partitions that the queried member works on.
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

/// The members of a router's cluster, for comparison.
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
                member.since.map { $0.second } ?? "-",
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
            lines.append("formats of logs differ: \(wires.map(String.init).joined(separator: ", "))")
        }
        if members.contains(where: { !$0.hasSameConfiguration }) {
            lines.append("configurations differ in more than names, addresses and folders")
        }
        return lines
    }
}

extension ClusterStatus {
    var metrics: [MetricFamily] {
        [
            .one("carillon_cluster_partitions", "Partitions of the cluster that this member owns.", owned),
            .one(
                "carillon_cluster_partitions_without_owner",
                "Partitions of the cluster that no living member owns, as this one sees it.",
                ownerless
            ),
            .one("carillon_cluster_members", "Living members of the cluster.", members.count(where: \.isLiving)),
            .one("carillon_cluster_waiting", "Deliveries that wait in the partitions that this member owns.", waiting),
            .one(
                "carillon_cluster_duplicates_total",
                "Deliveries that were due in partitions that this member took over from one that did not hand them over: the maximum "
                    + "number of deliveries sent twice, under one id.",
                repeats,
                .counter
            ),
        ]
    }
}

extension MetricFamily {
    fileprivate static func one(_ name: String, _ help: String, _ value: Int, _ kind: Kind = .gauge) -> MetricFamily {
        var family = MetricFamily(name, kind, help)
        family.add(value)
        return family
    }
}

extension ClusterStatus.Member {
    /// `configuration` is the queried member's.
    init(_ record: MemberRecord, partitions: Int, isLiving: Bool, configuration: String?) {
        self.init(
            name: record.name.rawValue,
            partitions: partitions,
            isLiving: isLiving,
            isLeaving: record.isLeaving,
            isDrained: record.isDrained,
            version: record.version,
            wire: record.wire,
            since: record.startedAt.map { Timestamp(seconds: $0).rfc3339 },
            configuration: record.configuration,
            hasSameConfiguration: record.configuration == configuration
        )
    }
}
