import Cipher
import PluginKit
import Synchronization
import Units

/// The credentials for a protected topic: the registration's `access_token`, or its `username` and `password`.
enum Credentials {
    private static let limit = 256

    /// The value of `authorization`; nil for an open topic. Throws for text that cannot stand in a header, and for a
    /// name without a password.
    static func authorization(_ registration: borrowing Registration) throws(PluginError) -> String? {
        let token = try text("access_token", registration, "ntfy's access token, such as tk_…, in printable ASCII") {
            $0.isVisibleASCII
        }
        let isPrintable = { (byte: UInt8) in byte >= 0x20 && byte != 0x7F }
        // A colon would end the name (RFC 7617 section 2).
        let name = try text("username", registration, "the name of an account, without a colon") {
            isPrintable($0) && $0 != UInt8(ascii: ":")
        }
        let password = try text("password", registration, "the account's password", where: isPrintable)
        switch (token, name, password) {
        case (nil, nil, nil): return nil
        case (let token?, nil, nil): return "Bearer " + token
        case (nil, let name?, let password?): return "Basic " + Base64.encode([UInt8]("\(name):\(password)".utf8))
        case (nil, _?, nil): throw PluginError("password: expected it beside username, found nothing")
        case (nil, nil, _?): throw PluginError("username: expected it beside password, found nothing")
        case (_?, _, _): throw PluginError("access_token: expected either it or username and password, found both")
        }
    }

    private static func text(
        _ name: StaticString,
        _ registration: borrowing Registration,
        _ expected: String,
        where fits: (UInt8) -> Bool
    ) throws(PluginError) -> String? {
        guard let field = registration.field(name), !field.isEmpty else { return nil }
        guard field.count <= limit, field.bytes.allSatisfy(fits) else {
            throw PluginError("\(name): expected \(expected), at most \(limit) bytes")
        }
        return field.string
    }
}

/// Credentials that ntfy refused recently, so that they are not sent again at once.
///
/// ntfy counts wrong credentials by address, which is ours, and after thirty or so refuses right ones as well. One
/// registration with a wrong token would stop the messages of everybody with a right one.
final class RefusedCredentials: Sendable {
    /// How long refused credentials are not sent again.
    static let quiet: Duration = .minutes(15)
    static let capacity = 4096

    /// When credentials were refused, by their hashes.
    private let refusals = Mutex<[Int: Timestamp]>([:])

    /// Whether the credentials were refused for a topic recently. A clock that was set back ends the time.
    func contain(_ authorization: String, for topic: Topic, now: Timestamp) -> Bool {
        refusals.withLock { refusals in
            guard let refusedAt = refusals[Self.key(authorization, topic)] else { return false }
            return Self.isRecent(refusedAt, now: now)
        }
    }

    func insert(_ authorization: String, for topic: Topic, now: Timestamp) {
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

    private static func isRecent(_ refusedAt: Timestamp, now: Timestamp) -> Bool {
        (.zero..<quiet).contains(now - refusedAt)
    }
}
