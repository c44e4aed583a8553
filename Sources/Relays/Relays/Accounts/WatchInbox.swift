import Core
import Nostr
import Registry
import Synchronization

/// Pending reports, the time of their processing, and the marks of relays. Safe to use from any thread.
final class WatchInbox: Sendable {
    /// Reports that are processed together.
    struct Batch {
        var keys: Set<PublicKey> = []
        var hints: [Hint] = []
        var established: [RelayURL: [PublicKey]] = [:]
        var marked: [RelayURL: Int64] = [:]
        /// Relays at which no key is watched from now on; nil: unchanged.
        var blocked: BlockedRelays?
        /// Parts of shared relays that are no longer read here. They are processed before `taken`.
        var left: [Int: [@Sendable () -> Void]] = [:]
        var taken: [Int: TakenPart] = [:]

        var isEmpty: Bool {
            keys.isEmpty && hints.isEmpty && established.isEmpty && marked.isEmpty && blocked == nil && left.isEmpty
                && taken.isEmpty
        }
    }

    /// The last reader's marks for a part, in seconds since 1970, and the completion of taking it.
    struct TakenPart {
        var marks: [RelayURL: Int64]
        var completion: @Sendable () -> Void
    }

    struct Hint {
        var account: PublicKey
        var partner: PublicKey
        var time: Timestamp
    }

    /// The state under the lock.
    struct State {
        var batch = Batch()
        /// By relay, in seconds since 1970.
        private(set) var marks: [RelayURL: Int64] = [:]
        private var due: Timestamp?
        private var isOpen = false

        init(marks: [RelayURL: Int64]) {
            self.marks = marks
        }

        /// Starts processing of reports. Returns when to take the first ones.
        mutating func open(now: Timestamp) -> Timestamp? {
            isOpen = true
            return batch.isEmpty ? nil : wake(at: now)
        }

        /// Stops processing and returns the last reports.
        mutating func close() -> Batch {
            isOpen = false
            return takeAll()
        }

        mutating func takeBlocked() -> BlockedRelays? {
            defer { batch.blocked = nil }
            return batch.blocked
        }

        /// Queues leaving a part. Returns false if reports are not processed now.
        mutating func leave(_ part: Int, _ completion: @escaping @Sendable () -> Void) -> Bool {
            batch.taken[part] = nil
            guard isOpen else { return false }
            batch.left[part, default: []].append(completion)
            return true
        }

        /// Takes the marks of another reader.
        mutating func adopt(_ moments: [RelayURL: Int64]) {
            marks.merge(moments) { $1 }
            for relay in moments.keys { batch.marked[relay] = nil }
        }

        /// Sets a mark. A mark never goes back, unless it is beyond `latest`.
        mutating func mark(_ relay: RelayURL, upTo moment: Int64, believing latest: Int64) {
            guard marks[relay].map({ $0 < moment || $0 > latest }) ?? true else { return }
            marks[relay] = moment
            batch.marked[relay] = moment
        }

        mutating func forget(_ relays: [RelayURL]) {
            for relay in relays {
                marks[relay] = nil
                batch.marked[relay] = nil
            }
        }

        /// Sets marks back, so that after a restart relays are read again from these moments. No other call sets a mark
        /// back.
        mutating func resume(_ moments: [RelayURL: Int64]) {
            for (relay, moment) in moments {
                marks[relay] = marks[relay].map { min($0, moment) }
                batch.marked[relay] = nil
            }
        }

        /// Puts back reports that failed.
        mutating func restore(_ failed: Batch) {
            batch.keys.formUnion(failed.keys)
            batch.hints.insert(contentsOf: failed.hints, at: 0)
            batch.established.merge(failed.established) { $1 + $0 }
            batch.marked.merge(failed.marked) { max($0, $1) }
            batch.blocked = batch.blocked ?? failed.blocked
            // A part that was left since then must not be taken.
            for (part, taken) in failed.taken where batch.taken[part] == nil && batch.left[part] == nil {
                batch.taken[part] = taken
            }
            batch.left.merge(failed.left) { $1 + $0 }
        }

        /// Schedules processing for `time`. Returns it if nothing earlier is scheduled.
        mutating func wake(at time: Timestamp) -> Timestamp? {
            guard isOpen, due.map({ time < $0 }) ?? true else { return nil }
            due = time
            return time
        }

        /// Takes the reports for the call scheduled at `time`, or immediately if `time` is nil. Returns nil if another
        /// call replaced the scheduled one.
        mutating func take(at time: Timestamp?) -> Batch? {
            guard isOpen, time == nil || due == time else { return nil }
            due = nil
            return takeAll()
        }

        private mutating func takeAll() -> Batch {
            defer { batch = Batch() }
            return batch
        }
    }

    /// Readings overlap by more than this.
    private static let markTolerance: Duration = .minutes(10)

    private let state: Mutex<State>
    private let now: @Sendable () -> Timestamp

    /// Reads the marks. Throws a `RegistryStoreError`.
    init(_ registry: Registry, now: @escaping @Sendable () -> Timestamp) throws {
        var marks: [RelayURL: Int64] = [:]
        for relay in try registry.readWatch({ try $0.watchRelays() }) {
            if let url = RelayURL(relay.url) { marks[url] = relay.mark }
        }
        state = Mutex(State(marks: marks))
        self.now = now
    }

    func withLock<Result: Sendable>(_ body: (inout sending State) -> sending Result) -> sending Result {
        state.withLock(body)
    }

    /// Returns the second up to which all events of a relay were processed. Nil if the mark is in the future, from a
    /// wrong clock, because no event would be read.
    func mark(of relay: RelayURL) -> Int64? {
        let latest = latestMark
        return state.withLock { $0.marks[relay].flatMap { $0 <= latest ? $0 : nil } }
    }

    /// In seconds since 1970. Later marks come from a wrong clock.
    var latestMark: Int64 { (now() + Self.markTolerance).seconds }
}
