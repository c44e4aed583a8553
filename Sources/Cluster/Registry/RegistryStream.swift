import Core
import Dispatch
import Glibc
import Registry
import Synchronization

/// The log of a cluster's registry: its changes in JetStream, one message each, and its snapshots. Call it only on
/// threads that may block.
struct RegistryStream: RegistryLog {
    /// How long an append is retried while its result is unknown.
    private static let timeout: Duration = .seconds(5)
    /// The maximum of parallel reads.
    private static let readAhead: UInt64 = 64

    private let layout: ClusterLayout
    private let line: MemberLine
    private let stream: JetStream
    private let snapshots: RegistrySnapshots

    init(_ link: ClusterLink) {
        (layout, line, snapshots) = (link.settings.layout, link.line, RegistrySnapshots(link))
        stream = JetStream(line.client, timeout: .seconds(1))
    }

    func lastPosition() throws -> UInt64 { try snapshots.logState().last }

    func snapshotPosition() throws -> UInt64? { try snapshots.head()?.position }

    func readSnapshot(to file: String) throws -> Bool { try snapshots.read(to: file) }

    func append(_ record: [UInt8], id: String, after position: UInt64) throws -> UInt64? {
        let deadline = Deadline.now() + Self.timeout
        let expectation = JetStream.Expectation(lastOfSubject: position, messageID: id)
        let sealed = line.seal.seal(record, for: layout.registry)
        while true {
            do {
                let appended = try Self.blocking { [stream, layout] in
                    try await stream.append(layout.registry, sealed, expecting: expectation)
                }
                // A member that misses this notice checks within a second.
                try? line.publish(layout.registryNews, [])
                return appended.seq
            } catch NATSError.refused(JetStream.Code.wrongLastSequence, _) {
                // An earlier attempt may have stored it.
                return try next(after: position).flatMap { $0.payload == sealed ? $0.sequence : nil }
            } catch let error as NATSError where Self.isTransient(error) && Deadline.now() < deadline {
                usleep(50_000)
            }
        }
    }

    private func next(after position: UInt64) throws -> JetStream.StoredMessage? {
        try Self.blocking { [stream, layout] in
            try await stream.next(of: layout.registry, from: position + 1, in: layout.registryStream)
        }
    }

    private static func isTransient(_ error: NATSError) -> Bool {
        switch error {
        case .refused(JetStream.Code.appendUnderWay, _), .refused(JetStream.Code.duplicateUnderWay, _),
            .refused(JetStream.Code.temporarilyUnavailable, _), .disconnected, .lost, .late, .noResponders:
            true
        default: false
        }
    }

    func records(after position: UInt64) throws -> [(position: UInt64, bytes: [UInt8]?)] {
        guard let first = try next(after: position) else { return [] }
        // The stream has one subject, so its sequences hardly have gaps.
        let sequences = first.sequence + 1..<first.sequence + Self.readAhead
        let further = try Self.blocking { [stream, layout] in
            await withTaskGroup(of: JetStream.StoredMessage?.self) { group in
                for sequence in sequences {
                    group.addTask { try? await stream.message(sequence, in: layout.registryStream) }
                }
                return await group.reduce(into: [UInt64: JetStream.StoredMessage]()) { found, message in
                    if let message { found[message.sequence] = message }
                }
            }
        }
        // Ends before the first message that could not be read; the next call reads it again.
        let messages = [first] + sequences.map { further[$0] }.prefix { $0 != nil }.compactMap(\.self)
        return messages.map { ($0.sequence, line.seal.open($0.payload, of: layout.registry)) }
    }

    /// Calls `heard` whenever a member changed the registry. Retain the result to stay subscribed.
    func news(_ heard: @escaping @Sendable () -> Void) throws -> NATSClient.Subscription {
        try line.subscribe(layout.registryNews) { _, _ in heard() }
    }

    // MARK: Blocking

    /// Runs `body` as a task and waits for it. The calling thread must be allowed to block.
    static func blocking<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result = Mutex<Result<Value, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task {
            let ended: Result<Value, any Error>
            do {
                ended = .success(try await body())
            } catch {
                ended = .failure(error)
            }
            result.withLock { $0 = ended }
            done.signal()
        }
        done.wait()
        guard let ended = result.withLock(\.self) else { throw NATSError.closed }
        return try ended.get()
    }
}
