import Console
import Units

/// What operators do to a cluster, as far as this member does it.
package protocol ClusterControl: Sendable {
    /// Has this member hand over all its partitions and take none, or take its share again.
    func drain(_ isOn: Bool) throws(OperationFailure)

    /// Tells all members where a partition is to be; nil: wherever it belongs.
    func move(_ partition: Int, to member: String?) async throws(OperationFailure)
}

/// What became of draining a member.
package struct ClusterDrain: OperatorAnswer, Equatable {
    package var member: String
    /// False: it takes its share again.
    package var isDrained: Bool
    /// Partitions that it owns now.
    package var partitions: Int

    package var text: String {
        guard isDrained else { return "\(member) takes partitions again" }
        return partitions == 0
            ? "\(member) owns no partition, and takes none before it is started again or told to with --undo"
            : "\(member) hands its partitions over: \(partitions) are left; carillon cluster status shows them"
    }
}

/// What became of moving a partition.
package struct ClusterMove: OperatorAnswer, Equatable {
    package var partition: Int
    /// Where it is to be; nil: wherever it belongs.
    package var to: String?
    /// Who owns it now; nil: nobody at this moment.
    package var owner: String?

    package var text: String {
        let place = owner.map { "is at \($0)" } ?? "has no owner at this moment"
        guard let to else { return "partition \(partition) \(place), and belongs to nobody in particular again" }
        return owner == to
            ? "partition \(partition) \(place), and stays there while \(to) lives"
            : "partition \(partition) \(place), and moves to \(to); carillon cluster status shows when it is there"
    }
}

/// Drains members and moves partitions, and looks how that goes.
package struct ClusterOperations: Sendable {
    /// So many looks until the answer says what is still under way.
    private static let looks = 150

    private let status: @Sendable () -> ClusterStatus?
    private let peers: any ClusterPeers
    private let control: any ClusterControl
    private let pause: @Sendable () async -> Void

    /// `pause` waits until the next look, a tenth of a second.
    package init(
        status: @escaping @Sendable () -> ClusterStatus?,
        peers: any ClusterPeers,
        control: any ClusterControl,
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .milliseconds(100)) }
    ) {
        (self.status, self.peers, self.control, self.pause) = (status, peers, control, pause)
    }

    func drain(_ name: String, undo: Bool) async throws -> ClusterDrain {
        let member = try member(name)
        if !undo, try known().members.allSatisfy({ $0.name == name || !$0.isServing }) {
            throw OperationFailure.unavailable(
                Sentence("drain-last", ["member": name], "no other member could take the partitions of \(name)")
            )
        }
        if name == peers.name {
            try control.drain(!undo)
        } else {
            guard member.isLiving else {
                throw OperationFailure.unavailable(
                    Sentence(
                        "drain-gone",
                        ["member": name],
                        "\(name) went away without a word: it owns nothing any more"
                    )
                )
            }
            let question = MemberJSON.bytes(MemberQuestion.drain(!undo))
            switch await peers.ask(question, of: name, within: MemberSurvey.patience) {
            case .silence(let why): throw why.failure(of: name)
            case .answer(let bytes):
                guard try MemberAnswer.read(bytes, as: Bool.self) != nil else {
                    throw MemberSilence.otherVersion.failure(of: name)
                }
            }
        }
        let status = try await look { status in
            let found = status.members.first { $0.name == name }
            // What it says of itself reaches the others a moment later.
            return found?.isDrained == !undo && (undo || found?.partitions == 0)
        }
        let partitions = status.members.first { $0.name == name }?.partitions ?? 0
        return ClusterDrain(member: name, isDrained: !undo, partitions: partitions)
    }

    /// `name` is nil where the partition is to be wherever it belongs.
    func move(_ partition: Int, to name: String?) async throws -> ClusterMove {
        let partitions = try known().partitions.count
        guard (0..<partitions).contains(partition) else {
            throw OperationFailure.unknown(
                Sentence(
                    "unknown-partition",
                    ["partition": "\(partition)", "limit": "\(partitions - 1)"],
                    "there is no partition \(partition): they are 0 to \(partitions - 1)"
                )
            )
        }
        if let name {
            let member = try member(name)
            guard member.isServing else {
                throw OperationFailure.unavailable(
                    Sentence(
                        "takes-no-partitions",
                        ["member": name],
                        "\(name) takes no partitions: it is drained, leaving or away"
                    )
                )
            }
        }
        try await control.move(partition, to: name)
        let status = try await look { status in
            let found = status.partitions[partition]
            return found.movedTo == name && (name == nil || found.owner == name)
        }
        return ClusterMove(partition: partition, to: name, owner: status.partitions[partition].owner)
    }

    private func known() throws(OperationFailure) -> ClusterStatus {
        guard let status = status() else {
            throw .unavailable(Sentence("leaving", [:], "this member is leaving the cluster"))
        }
        return status
    }

    private func member(_ name: String) throws(OperationFailure) -> ClusterStatus.Member {
        let members = try known().members
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

    /// The cluster as it is when that holds, or after a while.
    private func look(_ isDone: (ClusterStatus) -> Bool) async throws(OperationFailure) -> ClusterStatus {
        for _ in 0..<Self.looks {
            let status = try known()
            if isDone(status) { return status }
            await pause()
        }
        return try known()
    }
}

extension ClusterStatus.Member {
    /// Whether partitions may be there.
    fileprivate var isServing: Bool { isLiving && !isLeaving && !isDrained }
}
