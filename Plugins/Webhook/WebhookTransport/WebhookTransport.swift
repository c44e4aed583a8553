import Cipher
public import PluginKit
import Units

/// Webhooks: posts each notification as JSON to an endpoint of the user's own or to the app's server, signed as
/// Standard Webhooks says.
public final class WebhookTransport: PluginTransport {
    public static let platform: StaticString = "webhook"
    public static let description: StaticString? = WebhookDescription.json

    private let settings: Settings
    private let host: Host
    private let now: @Sendable () -> Timestamp

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        settings = try Settings(configuration)
        self.host = host
        self.now = now
    }

    public static func check(_ block: JSONObject) throws(PluginError) {
        if let name = Message.names.first(where: block.contains) {
            throw PluginError(at: "/\(name)", "expected a name that the message does not have itself")
        }
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try Destination(registration, settings)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        let destination: Destination
        do throws(PluginError) {
            destination = try Destination(registration, settings)
        } catch {
            return .invalid
        }
        switch notification.mode {
        case nil: return .unsupported
        case .sealed where notification.sealed.isEmpty: return .unsupported
        default: break
        }
        var request = HTTPRequest("POST", url: destination.url, options: destination.isEndpoint ? .untrustedURL : [])
        request.maxResponseBytes = 1024
        do throws(ReadableMessageError) {
            request.body = try Message.make(notification, recipient: destination.recipient)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        let id = notification.id.headerValue(limit: 128) { Hex.encode(SHA256.hash($0)) } ?? "unnamed"
        let sentAt = now()
        request.addHeader("content-type", "application/json")
        request.addHeader("webhook-id", id)
        request.addHeader("webhook-timestamp", String(sentAt.seconds))
        if !destination.secrets.isEmpty {
            let signatures = destination.secrets.signatures(id: id, sentAt: sentAt, body: request.body)
            request.addHeader("webhook-signature", signatures)
        }
        return host.send(request) { [now, isEndpoint = destination.isEndpoint] response in
            ticket.complete(WebhookAnswer(response, isEndpoint: isEndpoint, now: now()).outcome)
        }
    }
}

/// The block of one app.
struct Settings: Sendable {
    /// What the app does with endpoints that clients register.
    enum Endpoints: String, CaseIterable, Sendable {
        /// Signs with the registration's own secret; without one, there is no signature.
        case ownSecret = "own-secret"
        /// Signs with the app's secrets where the registration has none.
        case appSecret = "app-secret"
        case refused
    }

    /// The app's own server; nil: there are only endpoints of users.
    let url: String?
    let secrets: SigningSecrets
    let endpoints: Endpoints

    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: ["url", "secrets", "endpoints"])
        let expected = "the address of the app's server, such as https://example.com/carillon"
        url = try block.text("url", expected: expected)
        guard url.map({ HTTPURL($0) != nil }) ?? true else {
            throw PluginError("url: expected \(expected), found another text")
        }
        secrets = try SigningSecrets(block.texts("secrets", expected: "secrets such as whsec_…"), "secrets")
        endpoints = try block.choice("endpoints", Endpoints.self) ?? .ownSecret
        if endpoints == .refused, url == nil {
            throw PluginError("url: expected \(expected), because endpoints of users are refused")
        }
        if endpoints == .appSecret, secrets.isEmpty {
            throw PluginError("secrets: expected at least one, because endpoints is app-secret")
        }
    }
}

/// Where the messages for one registration go, and who signs them.
struct Destination {
    static let tokenLimit = 2048

    let url: String
    /// Whether the URL is the registration's own.
    let isEndpoint: Bool
    /// What the app's server knows the device by; nil for an endpoint.
    let recipient: String?
    let secrets: SigningSecrets

    /// A token that is a URL is an endpoint; any other names the device to the app's server.
    init(_ registration: borrowing Registration, _ settings: Settings) throws(PluginError) {
        let token = registration.token.string
        let own = try SigningSecrets(registration)
        isEndpoint = token.contains("://")
        let isTaken = isEndpoint ? HTTPURL(token) != nil && settings.endpoints != .refused : settings.url != nil
        guard isTaken, (1...Destination.tokenLimit).contains(token.utf8.count) else {
            throw PluginError("token: expected \(Destination.expectation(settings))")
        }
        guard !isEndpoint else {
            url = token
            recipient = nil
            secrets = own.isEmpty && settings.endpoints == .appSecret ? settings.secrets : own
            return
        }
        guard own.isEmpty else {
            throw PluginError("secret: expected it beside an endpoint of your own only")
        }
        url = settings.url ?? ""
        recipient = token
        secrets = settings.secrets
    }

    private static func expectation(_ settings: Settings) -> String {
        let endpoint = "the URL of your endpoint such as https://example.com/hook"
        let name = "what the app's server knows the device by"
        let kinds = (settings.endpoints == .refused ? [] : [endpoint]) + (settings.url == nil ? [] : [name])
        return kinds.joined(separator: ", or ") + ", at most \(tokenLimit) bytes"
    }
}

/// An answer of an endpoint or of the app's server, and its outcome.
///
/// Only 410 says that a receiver wants no more (Standard Webhooks). A 404 is what a server says that is being installed
/// anew, so the message waits. Only the app's own server can refuse the operator's signature.
struct WebhookAnswer {
    private let answer: PushServiceAnswer
    private let isEndpoint: Bool

    init(_ response: borrowing HTTPResponse, isEndpoint: Bool, now: Timestamp) {
        answer = PushServiceAnswer(response, now: now)
        self.isEndpoint = isEndpoint
    }

    var outcome: Outcome {
        switch answer.status {
        case 400, 422: answer.outcome(.rejected, "bad-request")
        case 401 where !isEndpoint: answer.outcome(.misconfigured, "unauthorized")
        case 403 where !isEndpoint: answer.outcome(.misconfigured, "forbidden")
        case 404: answer.outcome(.retry, "not-found", .device)
        case 425: answer.outcome(.retry, "too-early", .device)
        case 429: answer.outcome(.retry, "too-many-requests", busyScope)
        case 503: answer.outcome(.retry, "server-error", busyScope)
        default: answer.outcome
        }
    }

    /// All of an app's messages go to its one server.
    private var busyScope: Outcome.Scope { isEndpoint ? .host : .transport }
}
