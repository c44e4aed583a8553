import Synchronization

/// Credentials that ntfy did not take a while ago, so that they are not shown again at once.
///
/// ntfy counts wrong ones by the address that they come from, which is ours, and after some thirty refuses right ones as well:
/// one registration with a wrong token would take the messages of everybody who has a right one.
final class RefusedCredentials: Sendable {
    /// How long they are not shown again, in milliseconds.
    static let quiet: Int64 = 900_000
    static let capacity = 4096

    /// When they were refused, in milliseconds since 1970, by hashes.
    private let refusals = Mutex<[Int: Int64]>([:])

    /// Whether they were refused for that topic a while ago. `now` is in milliseconds since 1970; a clock that was set back
    /// ends the time.
    func contain(_ authorization: String, for topic: Topic, now: Int64) -> Bool {
        refusals.withLock { refusals in
            guard let refusedAt = refusals[Self.key(authorization, topic)] else { return false }
            return Self.isRecent(refusedAt, now: now)
        }
    }

    func insert(_ authorization: String, for topic: Topic, now: Int64) {
        let key = Self.key(authorization, topic)
        refusals.withLock { refusals in
            if refusals.count >= Self.capacity, refusals[key] == nil {
                refusals = refusals.filter { Self.isRecent($0.value, now: now) }
                if refusals.count >= Self.capacity { refusals.removeAll(keepingCapacity: true) }
            }
            refusals[key] = now
        }
    }

    private static func key(_ authorization: String, _ topic: Topic) -> Int {
        var hasher = Hasher()
        hasher.combine(topic.publishingURL)
        hasher.combine(topic.name)
        hasher.combine(authorization)
        return hasher.finalize()
    }

    private static func isRecent(_ refusedAt: Int64, now: Int64) -> Bool {
        (0..<quiet).contains(now - refusedAt)
    }
}
