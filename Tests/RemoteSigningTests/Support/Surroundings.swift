import Nostr
import RemoteSigning
import Synchronization
import TimeTestSupport
import Units

/// A clock that stands until it is told to go on, and where answers go.
final class Surroundings: Sendable {
    let clock: ManualClock
    private let answers = Mutex<[(event: Event, source: RequestSource)]>([])

    init(now: Timestamp) {
        clock = ManualClock(now)
    }

    var replies: [Event] { answers.withLock { $0.map(\.event) } }
    /// Where each answer goes.
    var sources: [RequestSource] { answers.withLock { $0.map(\.source) } }

    func take(_ reply: Event, _ source: RequestSource) {
        answers.withLock { $0.append((reply, source)) }
    }

    func lastReply() -> Event? {
        answers.withLock { $0.popLast()?.event }
    }
}
