public import PluginKit
import Units

/// ntfy, for people without an app of their own: readable messages on a topic of their choice, published as JSON.
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
    ) -> Admission {
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

/// A topic, from its URL `https://ntfy.example.com/alerts`. Anybody who knows the URL may read and write there, so it
/// is a secret.
struct Topic {
    static let urlLimit = 1000
    /// ntfy's limit.
    private static let nameLengths = 1...64
    /// Paths that ntfy reserves.
    private static let reserved: Set<String> = [
        "docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1",
    ]

    let name: String
    /// The topic's URL without its last part. Messages posted there name their topic in their JSON.
    let publishingURL: String

    /// Throws for a URL that is not a topic's.
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
