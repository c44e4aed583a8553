import HTTPListening
import NIOCore
import Synchronization
import Units

/// A live body for someone whose leave may end while they read: a token may be revoked, or run out.
final class GuardedBody: LiveBody {
    /// Asking costs little, but not nothing.
    private static let pause: Duration = .seconds(10)

    private let body: any LiveBody
    private let isAllowed: @Sendable () -> Bool
    private let now: @Sendable () -> Timestamp
    private let askedAt: Mutex<Timestamp>

    init(_ body: any LiveBody, now: @escaping @Sendable () -> Timestamp, isAllowed: @escaping @Sendable () -> Bool) {
        self.body = body
        self.isAllowed = isAllowed
        self.now = now
        askedAt = Mutex(now())
    }

    func next() async -> ByteBuffer? {
        guard let part = await body.next() else { return nil }
        let now = now()
        let mustAsk = askedAt.withLock { askedAt in
            // A clock that was put back must not keep us from asking.
            guard now - askedAt >= Self.pause || now < askedAt else { return false }
            askedAt = now
            return true
        }
        guard !mustAsk || isAllowed() else {
            body.end()
            return nil
        }
        return part
    }

    func end() { body.end() }
}
