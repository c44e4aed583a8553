import Nostr
import RemoteSigning
import Synchronization

/// A clock that stands until it is told to go on, and where answers go.
final class Surroundings: Sendable {
    private let clock: Mutex<Int64>
    private let answers = Mutex<[(event: Event, source: RequestSource)]>([])

    /// `now` is in milliseconds since 1970.
    init(now: Int64) {
        clock = Mutex(now)
    }

    var now: Int64 { clock.withLock { $0 } }
    var replies: [Event] { answers.withLock { $0.map(\.event) } }
    /// Where each answer goes.
    var sources: [RequestSource] { answers.withLock { $0.map(\.source) } }

    func pass(milliseconds: Int64) {
        clock.withLock { $0 += milliseconds }
    }

    func take(_ reply: Event, _ source: RequestSource) {
        answers.withLock { $0.append((reply, source)) }
    }

    func lastReply() -> Event? {
        answers.withLock { $0.popLast()?.event }
    }
}
