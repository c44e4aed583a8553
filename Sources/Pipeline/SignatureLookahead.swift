import Dispatch
import Nostr
import Synchronization

/// Reads the next events, and verifies them on all cores, before the pipeline's thread comes to them.
///
/// A verdict is about an event's bytes and nothing else, so it holds whatever the events before it change. Everything
/// else keeps its thread and its order. What was not verified ahead is verified when its turn comes.
final class SignatureLookahead {
    /// An event that a signature check is probably due for.
    struct Candidate: Sendable {
        let event: ScannedEvent
        let json: [UInt8]
    }

    /// Among so many events at least one must need a check, or keeping what all of them say costs more than it saves.
    private static let worthwhileShare = 16
    /// So many of the last events decide about that.
    static let window = 256

    /// One for each thread: of those that run at a time, each has another. The first is the pipeline's.
    private let verifiers: [EventVerifier]
    /// Of the events whose turn has come, how many needed a check, as far as it is known.
    private var recent = (events: 0, checks: 0)
    /// What was begun and not asked for yet.
    private var begun: (checks: SignatureChecks, events: EventsAhead)?
    /// The events of the last submissions that were looked at: a copy of one shares the verdict of the first if that is
    /// right.
    private var lookedAt: Set<EventID> = []
    private var lookedAtBefore: Set<EventID> = []
    /// Memory for more of them is not kept.
    private static let largestMemory = 8_192

    /// `threads` is how many verify at a time; with one nothing is done ahead.
    init(threads: Int) {
        verifiers = (0..<max(1, threads)).map { _ in EventVerifier(remembersKeys: true) }
    }

    /// Whether to read events ahead. Most relays' events concern nobody.
    var isWorthwhile: Bool {
        verifiers.count > 1 && recent.checks * Self.worthwhileShare >= recent.events
    }

    /// Notes that an event's turn has come, and whether its signature was checked.
    func note(isChecked: Bool) {
        if recent.events >= Self.window { recent = (recent.events / 2, recent.checks / 2) }
        recent.events += 1
        if isChecked { recent.checks += 1 }
    }

    /// Begins to verify the events of submissions whose turn is next, on other threads. `read` reads an event, and says
    /// whether a check is probably due for it; nil where it cannot be read. What its `p` tags name goes behind what the
    /// array has.
    func begin(
        _ submissions: [Submission],
        read: ([UInt8], EventSource, inout [Bytes32]) -> (event: ScannedEvent, isCheckDue: Bool)?
    ) {
        guard isWorthwhile else { return }
        swap(&lookedAt, &lookedAtBefore)
        lookedAt.removeAll(keepingCapacity: lookedAt.capacity <= Self.largestMemory)
        let count = submissions.reduce(0) { $0 + $1.events.count }
        var events = EventsAhead(expecting: count)
        var candidates: [Candidate] = []
        candidates.reserveCapacity(count)
        for submission in submissions {
            for json in submission.events {
                let known = events.append { submission.isOurs ? nil : read(json, submission.source, &$0) }
                guard let (event, isCheckDue) = known, isCheckDue, !lookedAtBefore.contains(event.id),
                    lookedAt.insert(event.id).inserted
                else { continue }
                events.expectVerdict(at: candidates.count)
                candidates.append(Candidate(event: event, json: json))
            }
        }
        let checks = SignatureChecks(candidates)
        checks.begin(on: verifiers.dropFirst())
        begun = (checks, events)
    }

    /// Whether checks were begun whose verdicts were not taken yet.
    var hasBegun: Bool { begun != nil }

    /// The events that ``begin(_:read:)`` was called for last; waits for verdicts that are missing, and helps. None
    /// when nothing was begun.
    func take() -> EventsAhead {
        guard let begun else { return EventsAhead(expecting: 0) }
        self.begun = nil
        var events = begun.events
        events.verdicts = begun.checks.finish(with: verifiers[0])
        return events
    }
}

/// Events that were read before their turn, by their places, and what is known of their signatures: an event is scanned
/// once.
struct EventsAhead {
    /// One of them.
    struct Event {
        /// The event, and what its `p` tags name; nil where it is to be scanned once more.
        let scanned: (event: ScannedEvent, named: ArraySlice<Bytes32>)?
        /// Nil where it was not verified.
        let verdict: Verification?
    }

    private struct Entry {
        let event: ScannedEvent
        /// Nil where it names too many.
        let named: Range<Int>?
        /// The place of its verdict.
        var verdict: Int?
    }

    /// What an event names beyond that is not kept until its turn comes.
    private static let mostNamed = 64

    /// Nil for what cannot be read, or is read when its turn comes.
    private var entries: [Entry?] = []
    private var named: [Bytes32] = []
    fileprivate var verdicts: [Verification] = []

    fileprivate init(expecting count: Int) { entries.reserveCapacity(count) }

    /// What is known of the event at a place, if it was read.
    subscript(place: Int) -> Event? {
        guard place < entries.count, let entry = entries[place] else { return nil }
        return Event(
            scanned: entry.named.map { (entry.event, named[$0]) },
            verdict: entry.verdict.map { verdicts[$0] }
        )
    }

    /// Adds what `read` reads, if it reads anything.
    fileprivate mutating func append(
        reading read: (inout [Bytes32]) -> (event: ScannedEvent, isCheckDue: Bool)?
    ) -> (event: ScannedEvent, isCheckDue: Bool)? {
        let start = named.count
        guard let result = read(&named) else {
            entries.append(nil)
            return nil
        }
        let isKept = named.count - start <= Self.mostNamed
        if !isKept { named.removeSubrange(start...) }
        entries.append(Entry(event: result.event, named: isKept ? start..<named.count : nil))
        return result
    }

    /// The verdict of the event added last will be at that place.
    fileprivate mutating func expectVerdict(at place: Int) { entries[entries.count - 1]?.verdict = place }
}

/// Signature checks that several threads share.
final class SignatureChecks: Sendable {
    /// Candidates that a thread takes at a time.
    private static let portion = 4

    private let candidates: [SignatureLookahead.Candidate]
    /// The first candidate that no thread has taken.
    private let next = Atomic<Int>(0)
    /// How many are not verified yet.
    private let left: Atomic<Int>
    private let finished = DispatchSemaphore(value: 0)
    // Unsafe in name only: each place is written by the one thread that took its candidate, and read when all are
    // written.
    private nonisolated(unsafe) let verdicts: UnsafeMutableBufferPointer<Verification>

    init(_ candidates: [SignatureLookahead.Candidate]) {
        self.candidates = candidates
        left = Atomic(candidates.count)
        verdicts = .allocate(capacity: candidates.count)
        verdicts.initialize(repeating: .wrongSignature)
        if candidates.isEmpty { finished.signal() }
    }

    deinit { verdicts.deallocate() }

    /// Verifies on as many other threads as there are verifiers, which must be used by nobody else until all is
    /// finished.
    func begin(on verifiers: ArraySlice<EventVerifier>) {
        let threads = (candidates.count + Self.portion - 1) / Self.portion
        for verifier in verifiers.prefix(threads) {
            // A verifier belongs to the one thread that took candidates with it, until ``finish(with:)`` returns.
            nonisolated(unsafe) let verifier = verifier
            DispatchQueue.global().async { [self] in work(with: verifier) }
        }
    }

    /// Helps, and returns the verdicts in the candidates' order when all are there. Once.
    func finish(with verifier: EventVerifier) -> [Verification] {
        work(with: verifier)
        finished.wait()
        return Array(verdicts)
    }

    private func work(with verifier: EventVerifier) {
        while true {
            let first = next.add(Self.portion, ordering: .relaxed).oldValue
            guard first < candidates.count else { return }
            let last = min(first + Self.portion, candidates.count)
            for place in first..<last {
                let candidate = candidates[place]
                verdicts[place] = candidate.json.withUnsafeBytes { verifier.verify(candidate.event, in: $0) }
            }
            let done = last - first
            if left.subtract(done, ordering: .acquiringAndReleasing).newValue == 0 { finished.signal() }
        }
    }
}
