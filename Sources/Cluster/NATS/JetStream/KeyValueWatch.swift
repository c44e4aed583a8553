import Core
import Foundation
import Logging
import Synchronization

/// Watches a bucket: reports its initial entries and then every change, each once and in order.
///
/// It uses an ephemeral consumer. If messages are missing or the server falls silent, a new consumer starts after the
/// last received entry.
final class KeyValueWatch: Sendable {
    /// A change in a bucket.
    enum Change: Hashable, Sendable {
        case entry(KeyValueBucket.Entry)
        /// All initial entries have arrived.
        case isCurrent
    }

    private struct State {
        var subscription: NATSClient.Subscription?
        /// The number of the consumer; messages of older ones do not count.
        var generation = 0
        var isBeginning = false
        /// The number of messages that the current consumer has delivered.
        var delivered: UInt64 = 0
        /// The revision of the last received entry.
        var last: UInt64 = 0
        var isCurrent = false
        var heardAt = Deadline.distantPast
        var isEnded = false
    }

    private struct Request: Encodable {
        struct Consumer: Encodable {
            let deliverSubject: String
            let deliverPolicy: String
            let startSequence: UInt64?
            let filter: String
            var ackPolicy = "none"
            var maxDeliver = 1
            var heartbeat: Int64 = 1_000_000_000
            var flowControl = true
            var memory = true
            var replicas = 1

            enum CodingKeys: String, CodingKey {
                case deliverSubject = "deliver_subject"
                case deliverPolicy = "deliver_policy"
                case startSequence = "opt_start_seq"
                case filter = "filter_subject"
                case ackPolicy = "ack_policy"
                case maxDeliver = "max_deliver"
                case heartbeat = "idle_heartbeat"
                case flowControl = "flow_control"
                case memory = "mem_storage"
                case replicas = "num_replicas"
            }
        }

        let stream: String
        let config: Consumer

        enum CodingKeys: String, CodingKey {
            case stream = "stream_name"
            case config
        }
    }

    private struct Created: Decodable {
        /// The number of messages that the consumer will deliver immediately.
        let pending: UInt64

        enum CodingKeys: String, CodingKey { case pending = "num_pending" }
    }

    /// After this silence of the server (two heartbeats) a new consumer starts. It is short, because live members must
    /// not look dead when the consumer's server dies.
    private static let timeout: Duration = .milliseconds(2_200)

    private let bucket: KeyValueBucket
    private let filter: String
    private let now: @Sendable () -> Deadline
    private let handler: @Sendable (Change) -> Void
    private let state = Mutex(State())

    /// Watches the keys that match `filter`. `handler` is called on the client's event loop. Call ``tick()`` about once
    /// a second.
    init(
        _ bucket: KeyValueBucket,
        keys filter: String = ">",
        now: @escaping @Sendable () -> Deadline = Deadline.now,
        handler: @escaping @Sendable (Change) -> Void
    ) {
        self.bucket = bucket
        self.filter = filter
        self.now = now
        self.handler = handler
    }

    deinit { end() }

    func end() {
        let subscription = state.withLock { state in
            state.isEnded = true
            defer { state.subscription = nil }
            return state.subscription
        }
        subscription?.end()
    }

    /// Starts the watch, and restarts it after too long a silence.
    func tick() async {
        let now = now()
        let isDue = state.withLock { state in
            guard !state.isEnded, !state.isBeginning, now - state.heardAt > Self.timeout else { return false }
            state.isBeginning = true
            return true
        }
        if isDue { await begin() }
    }

    private func begin() async {
        let (generation, last) = state.withLock { state in
            state.generation += 1
            state.delivered = 0
            return (state.generation, state.last)
        }
        let inbox = "_WATCH.\(UUID().uuidString)"
        do throws(NATSError) {
            let subscription = try bucket.stream.client.subscribe(inbox) { [weak self] message in
                self?.receive(message, generation)
            }
            state.withLock { if !$0.isEnded { $0.subscription = subscription } }
            let request = Request(
                stream: bucket.streamName,
                config: Request.Consumer(
                    deliverSubject: inbox,
                    deliverPolicy: last == 0 ? "last_per_subject" : "by_start_sequence",
                    startSequence: last == 0 ? nil : last + 1,
                    filter: bucket.subject(filter)
                )
            )
            let created: Created = try await bucket.stream.ask("CONSUMER.CREATE.\(bucket.streamName)", request)
            let isCurrent = state.withLock { state in
                state.isBeginning = false
                state.heardAt = now()
                // If entries are pending, the last one reports it.
                guard created.pending == 0, !state.isCurrent, state.generation == generation else { return false }
                state.isCurrent = true
                return true
            }
            if isCurrent { handler(.isCurrent) }
        } catch {
            // The next tick retries.
            state.withLock { $0.isBeginning = false }
        }
    }

    private func receive(_ message: NATSMessage, _ generation: Int) {
        if message.headers.status == 100 { return heartbeat(message, generation) }
        guard let place = Place(message.replyTo) else { return }
        let (isNew, becomesCurrent) = state.withLock { state -> (Bool, Bool) in
            guard state.generation == generation, !state.isEnded else { return (false, false) }
            guard place.consumer == state.delivered + 1 else {
                state.heardAt = .distantPast
                return (false, false)
            }
            state.delivered = place.consumer
            state.heardAt = now()
            let becomesCurrent = place.pending == 0 && !state.isCurrent
            if becomesCurrent { state.isCurrent = true }
            guard place.stream > state.last else { return (false, becomesCurrent) }
            state.last = place.stream
            return (true, becomesCurrent)
        }
        if isNew {
            let stored = JetStream.StoredMessage(
                subject: message.subject,
                sequence: place.stream,
                headers: message.headers,
                payload: message.payload
            )
            handler(.entry(bucket.entry(stored)))
        }
        if becomesCurrent { handler(.isCurrent) }
    }

    /// Takes a heartbeat with the server's position. Responds to flow control once this side has caught up.
    private func heartbeat(_ message: NATSMessage, _ generation: Int) {
        let isComplete = state.withLock { state in
            guard state.generation == generation else { return true }
            let delivered = message.headers["Nats-Last-Consumer"].flatMap { UInt64($0) }
            let isComplete = delivered.map { $0 == state.delivered } ?? true
            state.heardAt = isComplete ? now() : .distantPast
            return isComplete
        }
        guard isComplete, let replyTo = message.replyTo ?? message.headers["Nats-Consumer-Stalled"] else { return }
        try? bucket.stream.client.publish(replyTo, [])
    }

    /// The position of a message, parsed from its reply subject:
    /// `$JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQUENCE.CONSUMERSEQUENCE.TIME.PENDING`, perhaps with a domain and an
    /// account after the second part.
    private struct Place {
        let stream: UInt64
        let consumer: UInt64
        let pending: UInt64

        init?(_ replyTo: String?) {
            guard let parts = replyTo?.split(separator: "."), parts.count == 9 || parts.count >= 11 else { return nil }
            let first = parts.count == 9 ? 5 : 7
            guard let stream = UInt64(parts[first]), let consumer = UInt64(parts[first + 1]),
                let pending = UInt64(parts[first + 3])
            else { return nil }
            (self.stream, self.consumer, self.pending) = (stream, consumer, pending)
        }
    }
}
