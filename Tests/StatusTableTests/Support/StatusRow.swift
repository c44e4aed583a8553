import CarillonLab
import Delivery
import Testing

/// A row of a status table: a push service's response to a device's push, and the expected result.
struct StatusRow: Sendable, CustomTestStringConvertible {
    enum DeliveryResult: Sendable {
        case stays
        case deleted
    }

    /// The devices that wait, in addition to the device itself, while a retry is not due.
    enum HeldUp: Sendable {
        case nobody
        /// Every device whose endpoint is on the same host.
        case host
        /// Every device of the same platform and app.
        case queue
    }

    /// When the next attempt is made.
    enum Wait: Sendable, Equatable {
        /// After this time, or up to a second more: retries are spread.
        case seconds(Int64)
        /// At the start of the next day, in UTC.
        case midnight
    }

    /// The push service's misbehavior, `times` in a row, before it works normally again.
    var says: ScriptedBehavior.Action
    var times: Int
    /// The first line in the books.
    var kind: DeliveryReport.Kind
    var reason: String
    /// The last line.
    var end: DeliveryReport.Kind
    var fate: DeliveryResult
    /// The courier's attempts, up to the end.
    var attempts: Int
    /// Requests that reached the push service: more than the attempts if one of them may resend.
    var requests: Int
    var wait: Wait?
    var holdsUp: HeldUp
    /// Whether the push service accepted pushes with the same credentials before.
    var isProven: Bool

    var testDescription: String {
        "\(says.words)\(times == 1 ? "" : " × \(times)"): \(kind) \(reason)\(isProven ? "" : ", never delivered before")"
    }

    /// Accepted at the first attempt. `requests` is more than one if the connection's layer may resend provably
    /// unprocessed requests.
    static func delivered(_ says: ScriptedBehavior.Action, requests: Int = 1) -> StatusRow {
        StatusRow(says, .delivered, "delivered", attempts: 1, requests: requests)
    }

    /// The message is lost; the device stays, and no other device waits.
    static func rejected(_ says: ScriptedBehavior.Action, _ reason: String, isProven: Bool = true) -> StatusRow {
        StatusRow(says, .rejected, reason, attempts: 1, isProven: isProven)
    }

    /// The device is deleted.
    static func gone(_ says: ScriptedBehavior.Action, _ reason: String) -> StatusRow {
        StatusRow(says, .gone, reason, .deleted, attempts: 1)
    }

    /// The push is resent immediately with less content, and is accepted.
    static func reduced(_ says: ScriptedBehavior.Action, _ reason: String) -> StatusRow {
        StatusRow(says, .reduced, reason, attempts: 2)
    }

    /// The push already has the least content, so it is rejected without another request.
    static func reducedInVain(_ says: ScriptedBehavior.Action, _ reason: String) -> StatusRow {
        StatusRow(says, .reduced, reason, end: .rejected, attempts: 2, requests: 1)
    }

    /// Another attempt succeeds, after our own delay or the one that the push service requested.
    static func retry(
        _ says: ScriptedBehavior.Action,
        _ reason: String,
        wait: Wait? = nil,
        holdsUp: HeldUp = .nobody,
        isProven: Bool = true
    ) -> StatusRow {
        StatusRow(says, .retry, reason, attempts: 2, wait: wait, holdsUp: holdsUp, isProven: isProven)
    }

    /// The queue pauses until a probe succeeds.
    static func misconfigured(
        _ says: ScriptedBehavior.Action,
        times: Int = 1,
        _ reason: String,
        requests: Int? = nil
    ) -> StatusRow {
        StatusRow(says, times: times, .misconfigured, reason, attempts: 2, requests: requests, holdsUp: .queue)
    }

    private init(
        _ says: ScriptedBehavior.Action,
        times: Int = 1,
        _ kind: DeliveryReport.Kind,
        _ reason: String,
        _ fate: DeliveryResult = .stays,
        end: DeliveryReport.Kind = .delivered,
        attempts: Int,
        requests: Int? = nil,
        wait: Wait? = nil,
        holdsUp: HeldUp = .nobody,
        isProven: Bool = true
    ) {
        self.says = says
        self.times = times
        self.kind = kind
        self.reason = reason
        self.end = kind.isFinal ? kind : end
        self.fate = fate
        self.attempts = attempts
        self.requests = requests ?? attempts
        self.wait = wait
        self.holdsUp = holdsUp
        self.isProven = isProven
    }
}

extension ScriptedBehavior.Action {
    /// The push service's own form with its own word.
    static func says(_ status: Int, _ reason: String? = nil, retryAfter: Int? = nil) -> Self {
        .answer(status: status, reason: reason, retryAfter: retryAfter)
    }

    /// Responds with exactly this, whatever the push service's own form is.
    static func says(_ status: Int, body: String, headers: [LabHeader] = []) -> Self {
        .answer(status: status, headers: headers, body: body)
    }

    /// As short as a table's column.
    var words: String {
        switch self {
        case .answer(let answer):
            [
                "\(answer.status)", answer.reason, answer.body,
                answer.headers.isEmpty ? nil : answer.headers.map { "\($0.name): \($0.value)" }.joined(separator: ", "),
                answer.retryAfter.map { "Retry-After: \($0)" },
            ].compactMap { $0 }.joined(separator: " ")
        case .html(let status): "\(status) in HTML"
        default: "\(self)"
        }
    }
}
