import Cipher
import Core
public import PluginKit
import Synchronization

/// Publishes readable messages as JSON to an ntfy topic, for people without a Nostr app.
public final class NtfyTransport: PluginTransport {
    public static let platform: StaticString = "ntfy"
    public static let description: StaticString? = NtfyDescription.json

    private let sender: ReadableSender
    private let refused = RefusedCredentials()

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        sender = try ReadableSender(configuration: configuration, host: host, now: now)
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try Topic(registration.token)
        _ = try Credentials.authorization(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        let topic: Topic
        let authorization: String?
        do throws(PluginError) {
            topic = try Topic(registration.token)
            authorization = try Credentials.authorization(registration)
        } catch {
            return .invalid
        }
        if let authorization, refused.contain(authorization, for: topic, now: sender.now) {
            ticket.complete(Outcome(.rejected, reason: NtfyAnswer.unauthorized))
            return .accepted
        }
        var message = ReadableSender.Message(url: topic.publishingURL)
        if let authorization {
            message.headers.append(("authorization", authorization))
        }
        return sender.send(
            message,
            notification,
            ticket,
            wake: { notification, text throws(ReadableMessageError) in
                try Message.wake(notification, topic: topic.name, text)
            },
            readable: { notification throws(ReadableMessageError) in
                try Message.readable(notification, topic: topic.name)
            },
            outcome: { [refused] response, now in
                if let authorization, response.status == 401 {
                    refused.insert(authorization, for: topic, now: now)
                }
                return NtfyAnswer(response, hasAccount: authorization != nil, now: now).outcome
            }
        )
    }
}

/// A topic, from its URL `https://ntfy.example.com/alerts`. Anyone who knows the URL may read and write there, so it is
/// a secret.
struct Topic {
    static let urlLimit = 1000
    /// The length of a name, which is ntfy's limit.
    private static let nameLengths = 1...64
    /// Paths that ntfy reserves.
    private static let reserved: Set<String> = [
        "docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1",
    ]

    let name: String
    /// The topic's URL without its last part. Messages posted there name their topic in their JSON.
    let publishingURL: String

    /// Throws if the URL is not a topic's.
    init(_ token: BorrowedText) throws(PluginError) {
        let error = PluginError(
            "token: expected a topic's URL such as https://ntfy.sh/my-alerts, at most \(Topic.urlLimit) bytes; a topic has "
                + "\(Topic.nameLengths.lowerBound) to \(Topic.nameLengths.upperBound) of A-Z, a-z, 0-9, _ and -"
        )
        guard (1...Topic.urlLimit).contains(token.count), let url = HTTPURL(token.string),
            let slash = url.target.lastIndex(of: "/")
        else { throw error }
        let name = url.target[url.target.index(after: slash)...]
        guard Topic.nameLengths.contains(name.utf8.count), name.utf8.allSatisfy(Topic.isNameByte),
            !Topic.reserved.contains(String(name))
        else { throw error }
        self.name = String(name)
        publishingURL = url.origin + url.target[...slash]
    }

    private static func isNameByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "_-") }
}

/// The credentials for a protected topic: the registration's `access_token`, or its `username` and `password`.
enum Credentials {
    private static let limit = 256

    /// Returns the value of `authorization`; nil for an open topic. Throws for text that is not allowed in a header,
    /// and for a name without a password.
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
        case (nil, _?, nil): throw PluginError("password: required with username")
        case (nil, nil, _?): throw PluginError("username: required with password")
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

/// Credentials that ntfy refused recently, so that they are not sent again immediately.
///
/// ntfy counts wrong credentials by IP address, which is ours, and after about thirty refuses correct ones too. One
/// registration with a wrong token would stop the messages of all registrations with a correct one.
final class RefusedCredentials: Sendable {
    /// How long refused credentials are not sent again.
    static let quiet: Duration = .minutes(15)
    static let capacity = 4096

    /// The times when credentials were refused, by their hashes.
    private let refusals = Mutex<[Int: Timestamp]>([:])

    /// Whether the credentials were refused for a topic recently. If the clock was set back, they count as not refused.
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

/// A response of ntfy and its outcome. The status decides, and the code in `{"code":42908,…}` refines it.
///
/// The outcome is never gone, because a topic does not end. A refused access token affects only its owner, and so do
/// limits that ntfy counts by account or by a topic's subscriber: neither may delay other devices.
struct NtfyAnswer {
    /// ntfy grants a visitor one more request every five seconds.
    private static let refill: Duration = .seconds(5)
    /// After too many wrong tokens from one address, ntfy accepts one try a minute.
    private static let refillOfTrials: Duration = .minutes(1)

    /// The credentials are wrong.
    static let unauthorized = "unauthorized"

    private let answer: PushServiceAnswer
    private let hasAccount: Bool

    /// Reads a response. `hasAccount`: whether the request had credentials, so that limits are those of an account.
    init(_ response: borrowing HTTPResponse, hasAccount: Bool, now: Timestamp) {
        answer = PushServiceAnswer(response, now: now)
        self.hasAccount = hasAccount
    }

    var outcome: Outcome {
        switch answer.status {
        case 400: answer.outcome(.rejected, badRequest)
        case 401: answer.outcome(.rejected, NtfyAnswer.unauthorized)
        case 404, 410: answer.outcome(.rejected, answer.outcome.reason)
        case 429: limit
        default: answer.outcome
        }
    }

    /// The part of the message that ntfy refuses, usually from the rule's block.
    private var badRequest: String {
        switch answer.code ?? 0 {
        case 40001, 40032...40037: "bad-contact"
        case 40002...40006: "bad-delay"
        case 40007: "bad-priority"
        case 40009, 40010: "bad-topic"
        case 40013...40015: "bad-attachment"
        case 40018: "bad-actions"
        case 40021: "bad-icon"
        case 40041...40045: "bad-template"
        default: "bad-request"
        }
    }

    private var limit: Outcome {
        switch answer.code ?? 0 {
        // The limits on mails, subscriptions, topics, attachments, accounts, reservations and calls.
        case 42902...42907, 42910: limit("limit-reached", atLeast: NtfyAnswer.refill)
        case 42909: limit("too-many-wrong-tokens", atLeast: NtfyAnswer.refillOfTrials)
        case 42908: answer.outcome
        // An account's limit affects only that account. Without an account, all our requests may count as one visitor.
        default: hasAccount ? limit("too-many-requests", atLeast: NtfyAnswer.refill) : answer.outcome
        }
    }

    private func limit(_ reason: String, atLeast wait: Duration) -> Outcome {
        var outcome = answer.outcome(.retry, reason, .device)
        outcome.retryAfter = max(outcome.retryAfter, wait)
        return outcome
    }
}
