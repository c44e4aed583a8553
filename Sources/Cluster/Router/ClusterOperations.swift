import Console
import Core
import Operations

/// The result of draining a member.
package struct ClusterDrain: OperatorAnswer, Equatable {
    package var member: String
    /// Whether the member is drained; false: it takes its share again.
    package var isDrained: Bool
    /// The number of partitions that it owns now.
    package var partitions: Int

    package var text: String {
        guard isDrained else { return "\(member) takes partitions again" }
        return partitions == 0
            ? "\(member) owns no partition, and takes none before it is started again or told to with --undo"
            : "\(member) hands its partitions over: \(partitions) are left; carillon cluster status shows them"
    }
}

/// The result of moving a partition.
package struct ClusterMove: OperatorAnswer, Equatable {
    package var partition: Int
    /// The requested owner; nil: the default owner.
    package var to: String?
    /// The current owner; nil: none yet.
    package var owner: String?

    package var text: String {
        let place = owner.map { "is at \($0)" } ?? "has no owner at this moment"
        guard let to else { return "partition \(partition) \(place), and is assigned automatically again" }
        return owner == to
            ? "partition \(partition) \(place), and stays there while \(to) lives"
            : "partition \(partition) \(place), and moves to \(to); carillon cluster status shows when it is there"
    }
}

/// Shows the cluster, drains members and moves partitions.
struct ClusterOperations: Sendable {
    /// The maximum of checks whether an operation is complete. After that the response shows the remaining work.
    private static let looks = 150

    /// The cluster as this member sees it; nil once the member has left.
    private let seen: @Sendable () -> ClusterStatus?
    private let drainHere: @Sendable (_ isOn: Bool) throws(OperationError) -> Void
    private let setOwner: @Sendable (_ partition: Int, _ member: String?) async throws(OperationError) -> Void
    /// Asks a member for the lengths of its partitions' queues, by partition.
    private let waiting: MemberQuestion<NoParameters, [Int: Int]>
    private let drains: MemberQuestion<Bool, Bool>
    private let pause: @Sendable () async -> Void

    /// `status`, `drain` and `move` are those of ``ClusterPart``; `pause` waits until the next check, a tenth of a second.
    init(
        _ survey: MemberSurvey,
        status: @escaping @Sendable () -> ClusterStatus?,
        drain: @escaping @Sendable (_ isOn: Bool) throws(OperationError) -> Void,
        move: @escaping @Sendable (_ partition: Int, _ member: String?) async throws(OperationError) -> Void,
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .milliseconds(100)) }
    ) {
        (seen, drainHere, setOwner, self.pause) = (status, drain, move, pause)
        waiting = survey.question("partitions") { _ in status()?.waitingByPartition ?? [:] }
        drains = survey.question("drain") { isOn in
            try drain(isOn)
            return isOn
        }
    }

    /// The owners of partitions as this member sees them, and the queue lengths that the owners report.
    func status() async throws -> ClusterStatus {
        var status = try known()
        let result = try await waiting.ask(NoParameters())
        for (_, waiting) in result.answers {
            for (partition, count) in waiting where status.partitions.indices.contains(partition) {
                status.partitions[partition].waiting = count
            }
        }
        status.asked = result.asked
        return status
    }

    func drain(_ name: String, undo: Bool) async throws -> ClusterDrain {
        let cluster = try known()
        let member = try cluster.member(name)
        if !undo, cluster.members.allSatisfy({ $0.name == name || !$0.isServing }) {
            throw OperationError.unavailable(
                Sentence("drain-last", ["member": name], "no other member could take the partitions of \(name)")
            )
        }
        if name == cluster.name {
            try drainHere(!undo)
        } else {
            guard member.isLiving else {
                throw OperationError.unavailable(
                    Sentence(
                        "drain-gone",
                        ["member": name],
                        "\(name) left without a message and no longer owns a partition"
                    )
                )
            }
            _ = try await drains.ask(!undo, of: name)
        }
        let status = try await look { status in
            let found = status.members.first { $0.name == name }
            // The member's record reaches the others a moment later.
            return found?.isDrained == !undo && (undo || found?.partitions == 0)
        }
        let partitions = status.members.first { $0.name == name }?.partitions ?? 0
        return ClusterDrain(member: name, isDrained: !undo, partitions: partitions)
    }

    /// `name` is nil for the partition's default owner.
    func move(_ partition: Int, to name: String?) async throws -> ClusterMove {
        let cluster = try known()
        let partitions = cluster.partitions.count
        guard (0..<partitions).contains(partition) else {
            throw OperationError.unknown(
                Sentence(
                    "unknown-partition",
                    ["partition": "\(partition)", "limit": "\(partitions - 1)"],
                    "there is no partition \(partition): they are 0 to \(partitions - 1)"
                )
            )
        }
        if let name {
            guard try cluster.member(name).isServing else {
                throw OperationError.unavailable(
                    Sentence(
                        "takes-no-partitions",
                        ["member": name],
                        "\(name) takes no partitions: it is drained, leaving or away"
                    )
                )
            }
        }
        try await setOwner(partition, name)
        let status = try await look { status in
            let found = status.partitions[partition]
            return found.movedTo == name && (name == nil || found.owner == name)
        }
        return ClusterMove(partition: partition, to: name, owner: status.partitions[partition].owner)
    }

    private func known() throws(OperationError) -> ClusterStatus {
        guard let status = seen() else { throw ClusterPart.leaving }
        return status
    }

    /// Waits until `isDone`, up to a limit, and returns the cluster's status.
    private func look(_ isDone: (ClusterStatus) -> Bool) async throws(OperationError) -> ClusterStatus {
        for _ in 0..<Self.looks {
            let status = try known()
            if isDone(status) { return status }
            await pause()
        }
        return try known()
    }
}

extension ClusterStatus {
    fileprivate func member(_ name: String) throws(OperationError) -> Member {
        guard let member = members.first(where: { $0.name == name }) else {
            let names = members.map(\.name).joined(separator: ", ")
            throw .unknown(
                Sentence(
                    "unknown-member",
                    ["member": name, "members": names],
                    "there is no member \(name): they are \(names)"
                )
            )
        }
        return member
    }
}

extension ClusterStatus.Member {
    /// Whether it may own partitions.
    fileprivate var isServing: Bool { isLiving && !isLeaving && !isDrained }
}

// MARK: The API

extension ClusterPart {
    /// The endpoints for operators of a cluster; `part` is nil if the router is not in a cluster.
    package static func endpoints(of part: ClusterPart?) -> (MemberSurvey) -> [APIOperation] {
        { survey in
            let operations = part.map { part in
                ClusterOperations(survey, status: { part.status }, drain: part.drain, move: part.move)
            }
            return [statusEndpoint(operations), drainEndpoint(operations), moveEndpoint(operations)]
        }
    }

    /// The error of all operations if the router is not in a cluster.
    package static let alone = OperationError.unknown(
        Sentence("serves-alone", [:], "this router is not a cluster member: its configuration has no block 'cluster'")
    )

    private static func statusEndpoint(_ operations: ClusterOperations?) -> APIOperation {
        .report(
            .get("/v1/cluster"),
            .router,
            "The cluster that the router is a member of: its members, and who owns which partition."
        ) { _ in
            guard let operations else { throw alone }
            return try await operations.status()
        }
    }

    private static func drainEndpoint(_ operations: ClusterOperations?) -> APIOperation {
        .report(
            .post("/v1/cluster/drain"),
            .router,
            "Drains a cluster member: it transfers all its partitions and takes none until its next start. Or undoes "
                + "that.",
            [
                .query("member", .text(64), "The member's name.", isRequired: true),
                .query("undo", .flag, "Undo the drain: the member takes its share again."),
            ]
        ) { call in
            guard let operations else { throw alone }
            let undo = ["1", "true"].contains(call.query["undo"] ?? "")
            return try await operations.drain(call.query["member"] ?? "", undo: undo)
        }
    }

    private static func moveEndpoint(_ operations: ClusterOperations?) -> APIOperation {
        .report(
            .post("/v1/cluster/move"),
            .router,
            "Moves a partition of the cluster to a member, where it stays while that member lives.",
            [
                .query("partition", .integer(0...255), "Its number.", isRequired: true),
                .query("member", .text(64), "The member's name. Default: assigned automatically."),
            ]
        ) { call in
            guard let operations else { throw alone }
            let partition = call.query["partition"].flatMap { Int($0) } ?? 0
            return try await operations.move(partition, to: call.query["member"])
        }
    }
}
