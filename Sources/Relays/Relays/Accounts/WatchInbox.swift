import Core
import Nostr
import Registry
import Synchronization

/// Reports that are not processed yet, when they will be, and up to when relays were read. Safe to use from any thread.
final class WatchInbox: Sendable {
    /// Reports that are processed together.
    struct Batch {
        var keys: Set<PublicKey> = []
        var hints: [Hint] = []
        var established: [RelayURL: [PublicKey]] = [:]
        var marked: [RelayURL: Int64] = [:]
        /// Relays that nobody is watched at from now on; nil: as before.
        var blocked: BlockedRelays?
        /// Parts of shared relays that are not read here any more, before those that are from now on.
        var left: [Int: [@Sendable () -> Void]] = [:]
        var taken: [Int: TakenPart] = [:]

        var isEmpty: Bool {
            keys.isEmpty && hints.isEmpty && established.isEmpty && marked.isEmpty && blocked == nil && left.isEmpty
                && taken.isEmpty
        }
    }

    /// Up to when the last reader of a part read its relays, in seconds since 1970, and who waits for reading to go on.
    struct TakenPart {
        var marks: [RelayURL: Int64]
        var completion: @Sendable () -> Void
    }

    struct Hint {
        var account: PublicKey
        var partner: PublicKey
        var time: Timestamp
    }

    /// The same without its lock.
    struct State {
        var batch = Batch()
        /// By relay, in seconds since 1970.
        private(set) var marks: [RelayURL: Int64] = [:]
        private var due: Timestamp?
        private var isOpen = false

        init(marks: [RelayURL: Int64]) {
            self.marks = marks
        }

        /// Begins to hand out reports. Returns when to take the first ones.
        mutating func open(now: Timestamp) -> Timestamp? {
            isOpen = true
            return batch.isEmpty ? nil : wake(at: now)
        }

        /// Hands out the last reports.
        mutating func close() -> Batch {
            isOpen = false
            return takeAll()
        }

        mutating func takeBlocked() -> BlockedRelays? {
            defer { batch.blocked = nil }
            return batch.blocked
        }

        /// Returns false when nothing is processed any more, or yet.
        mutating func leave(_ part: Int, _ completion: @escaping @Sendable () -> Void) -> Bool {
            batch.taken[part] = nil
            guard isOpen else { return false }
            batch.left[part, default: []].append(completion)
            return true
        }

        /// Goes on from where another reader was.
        mutating func adopt(_ moments: [RelayURL: Int64]) {
            marks.merge(moments) { $1 }
            for relay in moments.keys { batch.marked[relay] = nil }
        }

        /// A mark never goes back, unless it is beyond `latest`.
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

        /// Sets marks back, so that after a restart relays are read again from these moments. Otherwise marks never go
        /// back.
        mutating func resume(_ moments: [RelayURL: Int64]) {
            for (relay, moment) in moments {
                marks[relay] = marks[relay].map { min($0, moment) }
                batch.marked[relay] = nil
            }
        }

        /// Takes back what could not be processed.
        mutating func restore(_ failed: Batch) {
            batch.keys.formUnion(failed.keys)
            batch.hints.insert(contentsOf: failed.hints, at: 0)
            batch.established.merge(failed.established) { $1 + $0 }
            batch.marked.merge(failed.marked) { max($0, $1) }
            batch.blocked = batch.blocked ?? failed.blocked
            // What was left since is not to be taken.
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

        /// Takes the reports, for the call scheduled at `time`, or for one that waits for none; nil if another call
        /// replaced the scheduled one.
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

    /// Relays are read again for longer than that in any case.
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

    /// Up to when everything that a relay had was dealt with. Nil also for a mark in the future, from a wrong clock:
    /// nothing would be read.
    func mark(of relay: RelayURL) -> Int64? {
        let latest = latestMark
        return state.withLock { $0.marks[relay].flatMap { $0 <= latest ? $0 : nil } }
    }

    /// In seconds since 1970. Later marks were set while the clock was wrong.
    var latestMark: Int64 { (now() + Self.markTolerance).seconds }
}
