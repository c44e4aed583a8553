import Dispatch
import Nostr
import Synchronization

/// Reads the next events, and verifies them on all cores, before the pipeline's thread comes to them.
///
/// A result is about an event's bytes and nothing else, so it holds whatever the events before it change. Everything
/// else keeps its thread and its order. What was not verified ahead is verified when its turn comes.
final class SignatureLookahead {
    /// An event that a signature check is probably due for.
    struct Candidate: Sendable {
        let event: ScannedEvent
        let json: [UInt8]
    }

    /// Among so many events at least one must need a check, or reading all of them twice costs more than it saves.
    private static let worthwhileShare = 16
    /// So many of the last events decide about that.
    static let window = 256

    /// One for each thread: of those that run at a time, each has another. The first is the pipeline's.
    private let verifiers: [EventVerifier]
    /// Of the events whose turn has come, how many needed a check, as far as it is known.
    private var recent = (events: 0, checks: 0)
    /// The checks that were begun and not asked for yet, with the number of each event's check by the event's place.
    private var begun: (checks: SignatureChecks, numbers: [Int?])?
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

    /// Begins to verify the events of submissions whose turn is next, on other threads. `candidate` reads an event; nil
    /// where it cannot be read, or no check is probably due for it.
    func begin(_ submissions: [Submission], candidate: ([UInt8], EventSource) -> ScannedEvent?) {
        guard isWorthwhile else { return }
        swap(&lookedAt, &lookedAtBefore)
        lookedAt.removeAll(keepingCapacity: lookedAt.capacity <= Self.largestMemory)
        var numbers: [Int?] = []
        var candidates: [Candidate] = []
        for submission in submissions {
            for json in submission.events {
                guard !submission.isOurs, let event = candidate(json, submission.source),
                    !lookedAtBefore.contains(event.id), lookedAt.insert(event.id).inserted
                else {
                    numbers.append(nil)
                    continue
                }
                numbers.append(candidates.count)
                candidates.append(Candidate(event: event, json: json))
            }
        }
        let checks = SignatureChecks(candidates)
        checks.begin(on: verifiers.dropFirst())
        begun = (checks, numbers)
    }

    /// Whether checks were begun whose results were not taken yet.
    var hasBegun: Bool { begun != nil }

    /// The results for the events that ``begin(_:candidate:)`` was called for last, by their places, nil where there is
    /// none; waits for those that are missing, and helps. None when nothing was begun.
    func take() -> [Verification?] {
        guard let begun else { return [] }
        self.begun = nil
        let results = begun.checks.finish(with: verifiers[0])
        return begun.numbers.map { number in number.map { results[$0] } }
    }
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
    private nonisolated(unsafe) let results: UnsafeMutableBufferPointer<Verification>

    init(_ candidates: [SignatureLookahead.Candidate]) {
        self.candidates = candidates
        left = Atomic(candidates.count)
        results = .allocate(capacity: candidates.count)
        results.initialize(repeating: .wrongSignature)
        if candidates.isEmpty { finished.signal() }
    }

    deinit { results.deallocate() }

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
        return Array(results)
    }

    private func work(with verifier: EventVerifier) {
        while true {
            let first = next.add(Self.portion, ordering: .relaxed).oldValue
            guard first < candidates.count else { return }
            let last = min(first + Self.portion, candidates.count)
            for place in first..<last {
                let candidate = candidates[place]
                results[place] = candidate.json.withUnsafeBytes { verifier.verify(candidate.event, in: $0) }
            }
            let done = last - first
            if left.subtract(done, ordering: .acquiringAndReleasing).newValue == 0 { finished.signal() }
        }
    }
}
