import Cipher

/// Writes a snapshot of a partition: its parts, then its head, and then drops the data that the head replaces. A pure
/// state machine: the caller sends requests to the storage, one at a time, and passes the responses back.
struct SnapshotWriter: Sendable {
    enum Step: Sendable {
        case ask(LogQuestion)
        /// The head is stored. Only this request remains, which deletes old data.
        case kept(LogQuestion)
        case ended
        /// A former owner stored its head, and may have deleted parts of this snapshot. It must be written again.
        case lost
        /// A later owner stored its head.
        case fenced
        /// The snapshot was abandoned. The next one is due after the usual number of records.
        case givenUp
    }

    private enum Phase: Sendable {
        case idle
        case storing(SnapshotHead, [[UInt8]], next: Int, firstSequence: UInt64)
        case storingHead(SnapshotHead, firstSequence: UInt64)
        case checkingHead(SnapshotHead, firstSequence: UInt64)
        case purging
    }

    private var phase = Phase.idle
    /// The revision of the stored head.
    var headRevision: UInt64 = 0

    var isIdle: Bool { if case .idle = phase { true } else { false } }

    /// Starts a snapshot; `position` is the sequence of the last record in it. Returns nil if it is too large.
    mutating func begin(
        _ bytes: [UInt8],
        named name: String,
        at position: UInt64,
        epoch: UInt64,
        partSize: Int
    ) -> LogQuestion? {
        let parts = stride(from: 0, to: bytes.count, by: partSize).map {
            Array(bytes[$0..<min($0 + partSize, bytes.count)])
        }
        guard let first = parts.first, parts.count <= SnapshotHead.maxParts else { return nil }
        let head = SnapshotHead(
            name: name,
            parts: parts.count,
            byteCount: bytes.count,
            sha256: Hex.encode(SHA256.hash(bytes)),
            sequence: position,
            epoch: epoch
        )
        phase = .storing(head, parts, next: 0, firstSequence: 0)
        return .storePart(name: name, index: 0, first)
    }

    mutating func answered(_ answer: LogAnswer) -> Step {
        switch (phase, answer) {
        case (.storing(let head, let parts, let index, let first), .stored(let sequence)):
            let first = index == 0 ? sequence : first
            guard index + 1 < parts.count else {
                phase = .storingHead(head, firstSequence: first)
                return .ask(.storeHead(head, over: headRevision))
            }
            phase = .storing(head, parts, next: index + 1, firstSequence: first)
            return .ask(.storePart(name: head.name, index: index + 1, parts[index + 1]))
        case (.storingHead(let head, let first), .stored(let revision)):
            return kept(head, first, revision)
        case (.storingHead(let head, let first), .conflict):
            phase = .checkingHead(head, firstSequence: first)
            return .ask(.head)
        case (.checkingHead(let head, let first), .head(let stored, let revision)):
            // A former owner's last snapshot may arrive late. A later owner's head fences this member off.
            if let stored, stored.epoch > head.epoch { return .fenced }
            guard stored == head else {
                // After storing its head, the former owner may delete older parts, such as these.
                (phase, headRevision) = (.idle, revision)
                return .lost
            }
            return kept(head, first, revision)
        case (.purging, _):
            phase = .idle
            return .ended
        default:
            phase = .idle
            return .givenUp
        }
    }

    private mutating func kept(_ head: SnapshotHead, _ first: UInt64, _ revision: UInt64) -> Step {
        headRevision = revision
        phase = .purging
        return .kept(.purge(log: head.sequence, snapshots: first))
    }
}
