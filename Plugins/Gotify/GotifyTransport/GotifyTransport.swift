import Core
public import PluginKit

/// Sends readable messages to a Gotify server, under one of its applications, for people without a Nostr app.
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
    ) -> Acceptance {
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

/// The message endpoint of one application, as Gotify shows it: `https://gotify.example.com/message?token=A…`. The
/// token is secret and is sent in a header.
struct MessageEndpoint {
    static let limit = 1000
    private static let query = "?token="

    /// The URL without the token.
    let url: String
    let applicationToken: String

    /// Throws if the URL is not an application's.
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

/// A response of a Gotify server and its outcome.
///
/// The outcome is never gone: a refused token drops the message but not the device, because its owner may restore the
/// token soon.
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

/// A message in Gotify's JSON format. Gotify has no buttons; its only link is the notification's, or the first
/// button's.
///
/// Members of the rule's block: `priority` overrides the urgency; `markdown`, `image` and `intent` become extras of
/// Gotify; members of `extras` override those.
struct Message {
    /// The maximum size in bytes. Gotify has no limit; this is the usual one of push services.
    static let limit = 4096

    private let native: JSONObject
    private let extras: JSONObject

    /// Returns a message that something happened.
    static func wake(_ notification: borrowing Notification, _ text: String) throws(ReadableMessageError) -> [UInt8] {
        let message = try Message(notification)
        var writer = JSONWriter(reservingBytes: 128)
        writer.beginObject()
        writer.key("message")
        writer.string(text)
        writer.key("priority")
        message.writePriority(notification, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    /// Returns a message with title, text and link.
    static func readable(_ notification: borrowing Notification) throws(ReadableMessageError) -> [UInt8] {
        guard !notification.title.isEmpty || !notification.body.isEmpty else { throw .empty }
        let message = try Message(notification)
        guard let bytes = FittedPayload.make(limit: limit, { message.write(notification, to: &$0, within: $1) }) else {
            throw .tooLarge
        }
        return bytes
    }

    private init(_ notification: borrowing Notification) throws(ReadableMessageError) {
        guard !notification.native.isEmpty else {
            native = JSONObject()
            extras = JSONObject()
            return
        }
        guard let native = try? JSONObject(parsing: notification.native.bytes) else { throw .badNative }
        self.native = native
        guard let given = native["extras"] else {
            extras = JSONObject()
            return
        }
        guard let extras = given.object else { throw .badNative }
        self.extras = extras
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        writer.beginObject()
        let lengths = writer.readableTexts(of: notification, within: limits)
        writer.key("priority")
        writePriority(notification, to: &writer)
        writeExtras(notification, to: &writer)
        writer.endObject()
        return lengths
    }

    private func writePriority(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        if let priority = native["priority"] {
            writer.value(priority)
        } else {
            writer.integer(notification.urgency.gotifyPriority)
        }
    }

    private func writeExtras(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        writer.key("extras")
        writer.beginObject()
        if !extras.contains("client::display") {
            // Without a content type Gotify's clients choose one, and text from strangers must not be markup.
            writer.key("client::display")
            writer.beginObject()
            writer.key("contentType")
            writer.string(native["markdown"]?.bool == true ? "text/markdown" : "text/plain")
            writer.endObject()
        }
        writeLink(notification, to: &writer)
        if let intent = native["intent"], !extras.contains("android::action") {
            writer.key("android::action")
            writer.beginObject()
            writer.key("onReceive")
            writer.beginObject()
            writer.key("intentUrl")
            writer.value(intent)
            writer.endObject()
            writer.endObject()
        }
        writer.members(of: extras)
        writer.endObject()
    }

    private func writeLink(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard !extras.contains("client::notification") else { return }
        var isWritten = false
        let writeClick = { (url: BorrowedText, writer: inout JSONWriter) in
            writer.key("client::notification")
            writer.beginObject()
            writer.key("click")
            writer.beginObject()
            writer.key("url")
            writer.string(url)
            writer.endObject()
        }
        if !notification.url.isEmpty {
            writeClick(notification.url, &writer)
            isWritten = true
        } else {
            notification.forEachAction { action in
                guard !isWritten, !action.url.isEmpty else { return }
                writeClick(action.url, &writer)
                isWritten = true
            }
        }
        if let image = native["image"] {
            if !isWritten {
                writer.key("client::notification")
                writer.beginObject()
                isWritten = true
            }
            writer.key("bigImageUrl")
            writer.value(image)
        }
        if isWritten {
            writer.endObject()
        }
    }
}

extension Urgency {
    /// Gotify's priority, from 0 to 10: its Android app is silent below 4 and vibrates from 8.
    var gotifyPriority: Int {
        switch self {
        case .low: 2
        case .normal: 5
        case .high: 8
        }
    }
}
