import Dispatch
import Glibc
import NATS
import Synchronization
import Units

/// The changes of the registry of a cluster in JetStream, one message each. For threads that may block.
package struct RegistryStream: Sendable {
    /// How long an append is tried again when nobody says what became of it.
    private static let patience: Duration = .seconds(5)
    /// Messages that are asked for at the same time.
    private static let readAhead = 64

    private let layout: ClusterLayout
    private let line: MemberLine
    private let stream: JetStream

    package init(_ layout: ClusterLayout, _ line: MemberLine) {
        self.layout = layout
        self.line = line
        stream = JetStream(line.client, patience: .seconds(1))
    }

    /// Appends a record if nothing came behind `position`. Returns where it is; nil: something else came first. Throws
    /// when that is not known.
    package func append(_ record: [UInt8], id: String, after position: UInt64) throws -> UInt64? {
        let deadline = Deadline.now() + Self.patience
        let expectation = JetStream.Expectation(lastOfSubject: position, messageID: id)
        let sealed = line.seal.seal(record, for: layout.registry)
        while true {
            let result: Result<JetStream.Appended, NATSError> = Self.wait { [stream, layout] completion in
                stream.append(layout.registry, sealed, expecting: expectation, then: completion)
            }
            switch result {
            case .success(let appended):
                // Whoever misses this looks within a second.
                try? line.publish(layout.registryNews, [])
                return appended.seq
            case .failure(.refused(JetStream.Code.wrongLastSequence, _)):
                // An earlier try may be what came.
                let next = try Self.wait { [stream, layout] completion in
                    stream.read(position + 1, nextOf: layout.registry, in: layout.registryStream, then: completion)
                }
                .get()
                return next.flatMap { $0.payload == sealed ? $0.sequence : nil }
            case .failure(let error):
                guard Self.isTransient(error), Deadline.now() < deadline else { throw error }
                usleep(50_000)
            }
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

    /// Records behind `position`, in their order, as many as suit. `bytes` is nil for what no member wrote.
    package func records(after position: UInt64) throws -> [(position: UInt64, bytes: [UInt8]?)] {
        let first = try Self.wait { [stream, layout] completion in
            stream.read(position + 1, nextOf: layout.registry, in: layout.registryStream, then: completion)
        }
        .get()
        guard let first else { return [] }
        // The stream has one subject, so its sequences hardly have gaps.
        let further: [Result<JetStream.StoredMessage?, NATSError>] = Self.waitForAll(Self.readAhead - 1) {
            [stream, layout] offset, completion in
            let sequence = first.sequence + 1 + UInt64(offset)
            stream.read(sequence, in: layout.registryStream, then: completion)
        }
        var records = [(first.sequence, line.seal.open(first.payload, of: layout.registry))]
        for result in further {
            // What cannot be read now is asked for again.
            guard case .success(let message?) = result else { break }
            records.append((message.sequence, line.seal.open(message.payload, of: layout.registry)))
        }
        return records
    }

    /// Calls `heard` whenever a member changed the registry, as long as the result is kept.
    package func news(_ heard: @escaping @Sendable () -> Void) throws -> NATSClient.Subscription {
        try line.subscribe(layout.registryNews) { _, _ in heard() }
    }

    // MARK: Blocking

    static func wait<Value: Sendable>(
        for body: (@escaping @Sendable (Result<Value, NATSError>) -> Void) -> Void
    ) -> Result<Value, NATSError> {
        waitForAll(1) { body($1) }.first ?? .failure(.closed)
    }

    private static func waitForAll<Value: Sendable>(
        _ count: Int,
        _ body: (Int, @escaping @Sendable (Result<Value, NATSError>) -> Void) -> Void
    ) -> [Result<Value, NATSError>] {
        let results = Results<Value>(count)
        for place in 0..<count { body(place) { results.set($0, at: place) } }
        return results.all()
    }

    private final class Results<Value: Sendable>: Sendable {
        private let results: Mutex<[Result<Value, NATSError>?]>
        private let done = DispatchSemaphore(value: 0)

        init(_ count: Int) { results = Mutex(Array(repeating: nil, count: count)) }

        func set(_ result: Result<Value, NATSError>, at place: Int) {
            let isLast = results.withLock { results in
                results[place] = result
                return !results.contains { if case nil = $0 { true } else { false } }
            }
            if isLast { done.signal() }
        }

        func all() -> [Result<Value, NATSError>] {
            done.wait()
            return results.withLock { $0.compactMap(\.self) }
        }
    }
}
