import Cipher
import Core
public import PluginKit

/// Webhooks: posts each notification as JSON to a user's endpoint or to the app's server, signed as Standard Webhooks
/// specifies.
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
        try NotificationJSON.check(block)
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try Destination(registration, settings)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        do throws(Letter.LetterError) {
            let (destination, letter) = try prepare(ticket, registration, notification)
            return send([letter], to: destination)
        } catch {
            switch error {
            case .refused(let admission): return admission
            case .unwritable(let reason): ticket.complete(Outcome(.rejected, reason: reason))
            }
            return .accepted
        }
    }

    public static let deliverManyLimit = Settings.batchLimit

    /// Accepts batches as configured: one request for all deliveries with the same URL and the same signatures.
    public func deliverMany(_ deliveries: borrowing DeliveryList) -> Acceptance {
        guard let limit = settings.batch else { return .unsupported }
        var destinations: [Destination] = []
        var letters: [Destination: [Letter]] = [:]
        for index in 0..<deliveries.count {
            let ticket = deliveries.ticket(index)
            let prepared = try? deliveries.withDelivery(index) {
                (registration, notification) throws(Letter.LetterError) in
                try prepare(ticket, registration, notification)
            }
            // If one cannot be sent as it is, each is delivered separately.
            guard let (destination, letter) = prepared else { return .unsupported }
            let batch = destination.ofBatch
            if letters[batch] == nil { destinations.append(batch) }
            letters[batch, default: []].append(letter)
        }
        for destination in destinations {
            var rest = (letters[destination] ?? [])[...]
            while !rest.isEmpty {
                let batch = Array(rest.prefix(limit))
                rest = rest.dropFirst(limit)
                sendOrEnd(batch, to: destination)
            }
        }
        return .accepted
    }

    private func prepare(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) throws(Letter.LetterError) -> (destination: Destination, letter: Letter) {
        let destination: Destination
        do throws(PluginError) {
            destination = try Destination(registration, settings)
        } catch {
            throw .refused(.invalid)
        }
        switch notification.mode {
        case nil: throw .refused(.unsupported)
        case .sealed where notification.sealed.isEmpty: throw .refused(.unsupported)
        default: break
        }
        let id = notification.id.headerValue(limit: 128) { Hex.encode(SHA256.hash($0)) } ?? "unnamed"
        do throws(ReadableMessageError) {
            let body = try NotificationJSON.make(notification, recipient: destination.recipient)
            return (destination, Letter(ticket: ticket, id: id, body: body))
        } catch {
            throw .unwritable(reason: error.rawValue)
        }
    }

    /// Sends letters in one request.
    private func send(_ letters: [Letter], to destination: Destination) -> Acceptance {
        var request = HTTPRequest("POST", url: destination.url, options: destination.isEndpoint ? .untrustedURL : [])
        request.maxResponseBytes = 1024
        request.body = settings.batch == nil ? letters.flatMap(\.body) : Letter.array(of: letters)
        let id = Letter.id(of: letters)
        let sentAt = now()
        request.addHeader("content-type", "application/json")
        request.addHeader("webhook-id", id)
        request.addHeader("webhook-timestamp", String(sentAt.seconds))
        if !destination.secrets.isEmpty {
            let signatures = destination.secrets.signatures(id: id, sentAt: sentAt, body: request.body)
            request.addHeader("webhook-signature", signatures)
        }
        return host.send(request) { [self] response in
            let outcome = WebhookAnswer(response, isEndpoint: destination.isEndpoint, now: now()).outcome
            switch outcome.kind {
            // The error may be about one of them only.
            case .rejected where letters.count > 1, .gone where letters.count > 1:
                for letter in letters { sendOrEnd([letter], to: destination) }
            default:
                for letter in letters { letter.ticket.complete(outcome) }
            }
        }
    }

    /// Sends letters of accepted deliveries, or completes their tickets.
    private func sendOrEnd(_ letters: [Letter], to destination: Destination) {
        let outcome: Outcome
        switch send(letters, to: destination) {
        case .accepted: return
        case .busy, .failed: outcome = Outcome(.retry, reason: "busy")
        case .invalid, .unsupported: outcome = Outcome(.rejected, reason: "invalid")
        }
        for letter in letters { letter.ticket.complete(outcome) }
    }
}

/// The block of one app.
struct Settings: Sendable {
    /// How the app signs messages to endpoints that clients register.
    enum Endpoints: String, CaseIterable, Sendable {
        /// Signs with the registration's own secret; without one, there is no signature.
        case ownSecret = "own-secret"
        /// Signs with the app's secrets if the registration has none.
        case appSecret = "app-secret"
        case refused
    }

    /// The app's own server; nil: there are only endpoints of users.
    let url: String?
    let secrets: SigningSecrets
    let endpoints: Endpoints
    /// The maximum messages in one request, whose body is then an array; nil: one message per request, as an object.
    let batch: Int?

    /// The maximum batch size, with which even the longest messages fit into a request.
    static let batchLimit = 50

    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: ["url", "secrets", "secrets_file", "endpoints", "batch"])
        let expected = "the address of the app's server, such as https://example.com/carillon"
        url = try block.text("url", expected: expected)
        guard url.map({ HTTPURL($0) != nil }) ?? true else {
            throw PluginError("url: expected \(expected), found another text")
        }
        secrets = try Settings.secrets(block)
        endpoints = try block.choice("endpoints", Endpoints.self) ?? .ownSecret
        batch = try block.integer("batch", in: 2...Int64(Settings.batchLimit)).map { Int($0) }
        if endpoints == .refused, url == nil {
            throw PluginError("url: expected \(expected), because endpoints of users are refused")
        }
        if endpoints == .appSecret, secrets.isEmpty {
            throw PluginError("secrets: expected at least one, because endpoints is app-secret")
        }
    }

    private static func secrets(_ block: JSONObject) throws(PluginError) -> SigningSecrets {
        let secrets = try block.texts("secrets", expected: "secrets such as whsec_…")
        guard let file = try block.file("secrets_file", expected: "the path of a file with secrets") else {
            return try SigningSecrets(secrets, "secrets")
        }
        guard secrets.isEmpty else { throw PluginError("secrets_file: expected either this or secrets, found both") }
        let lines = try file.text().split(whereSeparator: \.isNewline).map(String.init)
        guard !lines.isEmpty else { throw PluginError("secrets_file: expected one secret per line in \(file.path)") }
        return try SigningSecrets(lines, "secrets_file")
    }
}

/// The destination of one registration's messages, and the secrets that sign them.
struct Destination: Hashable {
    static let tokenLimit = 2048

    let url: String
    /// Whether the URL is the registration's own.
    let isEndpoint: Bool
    /// The device's name for the app's server; nil for an endpoint.
    private(set) var recipient: String?
    let secrets: SigningSecrets

    /// Reads a registration. A token that is a URL is an endpoint; any other names the device to the app's server.
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
            throw PluginError("secret: only allowed with an endpoint of your own")
        }
        url = settings.url ?? ""
        recipient = token
        secrets = settings.secrets
    }

    /// The destination of a batch, whose messages name their recipients themselves.
    var ofBatch: Destination {
        var batch = self
        batch.recipient = nil
        return batch
    }

    private static func expectation(_ settings: Settings) -> String {
        let endpoint = "the URL of your endpoint such as https://example.com/hook"
        let name = "the device's identifier at the app's server"
        let kinds = (settings.endpoints == .refused ? [] : [endpoint]) + (settings.url == nil ? [] : [name])
        return kinds.joined(separator: ", or ") + ", at most \(tokenLimit) bytes"
    }
}

/// A response of an endpoint or of the app's server, and its outcome.
///
/// Only 410 means that a receiver has unsubscribed (Standard Webhooks). A server may respond 404 during an
/// installation, so the message is retried. Only the app's own server can refuse the operator's signature.
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

    /// The scope of a delay: all of an app's messages go to its one server.
    private var busyScope: Outcome.Scope { isEndpoint ? .host : .transport }
}

/// A message ready to send, and its ticket.
struct Letter: Sendable {
    /// The reason why there is no letter.
    enum LetterError: Error {
        /// The delivery is not accepted.
        case refused(Acceptance)
        /// The message cannot be written.
        case unwritable(reason: String)
    }

    let ticket: Ticket
    /// The value of `webhook-id`, the same on every attempt.
    let id: String
    let body: [UInt8]

    /// Returns the value of `webhook-id` for a request with these letters: the same for the same letters.
    static func id(of letters: [Letter]) -> String {
        letters.count == 1
            ? letters[0].id : Hex.encode(SHA256.hash(Array(letters.map(\.id).joined(separator: " ").utf8)))
    }

    /// Returns the body of a request with these letters.
    static func array(of letters: [Letter]) -> [UInt8] {
        Array("[".utf8) + letters.map(\.body).joined(separator: Array(",".utf8)) + Array("]".utf8)
    }
}

/// The secrets that sign a user's notifications.
struct SigningSecrets: Sendable, Hashable {
    private let secrets: WebhookSecrets

    var isEmpty: Bool { secrets.isEmpty }

    /// Throws if a text is not a valid secret; `name` is the setting or field, for the error.
    init(_ secrets: [String], _ name: StaticString) throws(PluginError) {
        do throws(WebhookSecrets.FormatError) {
            self.secrets = try WebhookSecrets(secrets)
        } catch {
            throw PluginError("\(name): \(error.description)")
        }
    }

    /// Reads the secrets of a registration, separated by spaces; none without the field.
    init(_ registration: borrowing Registration) throws(PluginError) {
        let secrets = registration.field("secret")?.string.split(separator: " ") ?? []
        try self.init(secrets.map(String.init), "secret")
    }

    /// Returns the value of `webhook-signature`: one signature for each secret.
    func signatures(id: String, sentAt: Timestamp, body: [UInt8]) -> String {
        secrets.signatures(id: id, sentAt: sentAt, body: body)
    }
}
