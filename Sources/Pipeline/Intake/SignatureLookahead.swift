import Dispatch
import Nostr
import Synchronization

/// Reads the next events, and verifies them on all cores before the pipeline's thread processes them.
///
/// A result depends only on an event's bytes, so earlier events cannot change it. Everything else keeps its thread and
/// its order. Events that were not verified ahead are verified in their turn.
final class SignatureLookahead {
    /// An event whose signature will probably be checked.
    struct Candidate: Sendable {
        let event: ScannedEvent
        let json: [UInt8]
    }

    /// If fewer than one in 16 events needs a check, reading all events twice costs more than it saves.
    private static let worthwhileShare = 16
    /// The number of recent events that decide about that.
    static let window = 256

    /// One verifier for each thread, never shared at the same time. The first is the pipeline's.
    private let verifiers: [EventVerifier]
    /// The number of recent events, and of those that needed a check.
    private var recent = (events: 0, checks: 0)
    /// The started checks whose results were not taken yet, and the number of each event's check by position.
    private var begun: (checks: SignatureChecks, numbers: [Int?])?
    /// The events of the last submissions that were read. Their copies are not verified ahead, because the gate does
    /// not verify them if the first copy is valid.
    private var lookedAt: Set<EventID> = []
    private var lookedAtBefore: Set<EventID> = []
    /// A larger set is deallocated after use.
    private static let largestMemory = 8_192

    /// `threads` is the number of threads that verify at the same time. With one, no event is verified ahead.
    init(threads: Int) {
        verifiers = (0..<max(1, threads)).map { _ in EventVerifier(remembersKeys: true) }
    }

    /// Whether to read events ahead. Most events of relays concern no account.
    var isWorthwhile: Bool {
        verifiers.count > 1 && recent.checks * Self.worthwhileShare >= recent.events
    }

    /// Notes a processed event, and whether its signature was checked.
    func note(isChecked: Bool) {
        if recent.events >= Self.window { recent = (recent.events / 2, recent.checks / 2) }
        recent.events += 1
        if isChecked { recent.checks += 1 }
    }

    /// Starts to verify the events of the next submissions on other threads. `candidate` reads an event. It returns nil
    /// if the event is invalid or probably needs no check.
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

    /// Whether there are started checks whose results were not taken yet.
    var hasBegun: Bool { begun != nil }

    /// Returns the results for the events of the last call of ``begin(_:candidate:)``, by position, or nil for events
    /// without a check. Waits for missing results, and helps to compute them. Empty if no checks were started.
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
    /// The number of candidates that are not verified yet.
    private let left: Atomic<Int>
    private let finished = DispatchSemaphore(value: 0)
    // Safe: each element is written by the one thread that took its candidate, and read after all are written.
    private nonisolated(unsafe) let results: UnsafeMutableBufferPointer<Verification>

    init(_ candidates: [SignatureLookahead.Candidate]) {
        self.candidates = candidates
        left = Atomic(candidates.count)
        results = .allocate(capacity: candidates.count)
        results.initialize(repeating: .wrongSignature)
        if candidates.isEmpty { finished.signal() }
    }

    deinit { results.deallocate() }

    /// Verifies on other threads, one for each verifier. No other code may use the verifiers until all checks are
    /// finished.
    func begin(on verifiers: ArraySlice<EventVerifier>) {
        let threads = (candidates.count + Self.portion - 1) / Self.portion
        for verifier in verifiers.prefix(threads) {
            // One thread uses a verifier until ``finish(with:)`` returns.
            nonisolated(unsafe) let verifier = verifier
            DispatchQueue.global().async { [self] in work(with: verifier) }
        }
    }

    /// Helps, waits for all checks, and returns the results in the candidates' order. Call this once.
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
