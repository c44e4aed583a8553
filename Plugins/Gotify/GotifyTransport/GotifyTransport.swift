public import PluginKit
import Units

/// Gotify, for people without an app of their own: readable messages under an application of their server.
public final class GotifyTransport: PluginTransport {
    public static let platform: StaticString = "gotify"
    public static let description: StaticString? = GotifyDescription.json

    private let sender: ReadableSender

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        sender = try ReadableSender(configuration: configuration, host: host, now: now)
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try MessageEndpoint(registration.token)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        let endpoint: MessageEndpoint
        do throws(PluginError) {
            endpoint = try MessageEndpoint(registration.token)
        } catch {
            return .invalid
        }
        var message = ReadableSender.Message(url: endpoint.url)
        message.headers.append(("x-gotify-key", endpoint.applicationToken))
        return sender.send(
            message,
            notification,
            ticket,
            wake: { notification, text throws(ReadableMessageError) in try Message.wake(notification, text) },
            readable: { notification throws(ReadableMessageError) in try Message.readable(notification) },
            outcome: { response, now in GotifyAnswer(response, now: now).outcome }
        )
    }
}

/// The endpoint for messages of one application, as Gotify shows it: `https://gotify.example.com/message?token=A…`. The
/// token is secret and is sent in a header.
struct MessageEndpoint {
    static let limit = 1000
    private static let query = "?token="

    /// Without the token.
    let url: String
    let applicationToken: String

    /// Throws for a URL that is not an application's.
    init(_ token: BorrowedText) throws(PluginError) {
        let error = PluginError(
            "token: expected an application's URL such as https://gotify.example.com/message?token=A…, at most "
                + "\(MessageEndpoint.limit) bytes"
        )
        guard (1...MessageEndpoint.limit).contains(token.count), let url = HTTPURL(token.string),
            let query = url.target.firstRange(of: MessageEndpoint.query),
            url.target[..<query.lowerBound].hasSuffix("/message")
        else { throw error }
        let secret = url.target[query.upperBound...]
        guard !secret.isEmpty, secret.utf8.allSatisfy(MessageEndpoint.isTokenByte) else { throw error }
        self.url = url.origin + url.target[..<query.lowerBound]
        applicationToken = String(secret)
    }

    /// Old tokens consist of letters, digits, `.`, `_` and `-`; new ones of base64url and dots.
    private static func isTokenByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "_-.") }
}

/// An answer of a Gotify server and its outcome.
///
/// Never gone: a refused token loses the message and not the device, because its owner may restore it any minute.
struct GotifyAnswer {
    private let answer: PushServiceAnswer

    init(_ response: borrowing HTTPResponse, now: Timestamp) {
        answer = PushServiceAnswer(response, now: now)
    }

    var outcome: Outcome {
        switch answer.status {
        case 400: answer.outcome(.rejected, "bad-request")
        case 404, 410: answer.outcome(.rejected, answer.outcome.reason)
        default: answer.outcome
        }
    }
}
