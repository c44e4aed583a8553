import Dispatch
import Nostr
import Synchronization

/// Verifies the next events of a batch on all cores, before the pipeline's thread comes to them.
///
/// A verdict is about an event's bytes and nothing else, so it holds whatever the events before it change. Everything
/// else keeps its thread and its order. What was not verified ahead is verified when its turn comes.
final class SignatureLookahead {
    /// An event that a signature check is probably due for.
    struct Candidate: Sendable {
        /// Its place among the events that are looked at.
        let place: Int
        let event: ScannedEvent
        let json: [UInt8]
    }

    /// How many events are read ahead: enough for all cores, and done in some milliseconds.
    static let window = 256
    /// Among so many events at least one must need a check, or reading all of them twice costs more than it saves.
    private static let worthwhileShare = 16
    /// Candidates that a thread takes at a time.
    private static let portion = 4

    /// One for each thread: of those that run at a time, each has another.
    private let verifiers: [EventVerifier]
    /// Of the events whose turn has come, how many needed a check, as far as it is known.
    private var recent = (events: 0, checks: 0)

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

    /// Verifies `candidates` and puts the verdicts in their places; returns when all are there.
    func verify(_ candidates: [Candidate], into verdicts: inout [Verification?]) {
        guard candidates.count > 1 else { return }
        verdicts.withUnsafeMutableBufferPointer { verdicts in
            // Unsafe in name only: each place is written by the one thread that took its candidate, and each thread has
            // a verifier of its own.
            nonisolated(unsafe) let verdicts = verdicts
            nonisolated(unsafe) let verifiers = verifiers
            let next = Atomic<Int>(0)
            let threads = min(verifiers.count, (candidates.count + Self.portion - 1) / Self.portion)
            DispatchQueue.concurrentPerform(iterations: threads) { thread in
                while true {
                    let first = next.add(Self.portion, ordering: .relaxed).oldValue
                    guard first < candidates.count else { return }
                    for candidate in candidates[first..<min(first + Self.portion, candidates.count)] {
                        verdicts[candidate.place] = candidate.json.withUnsafeBytes {
                            verifiers[thread].verify(candidate.event, in: $0)
                        }
                    }
                }
            }
        }
    }
}
