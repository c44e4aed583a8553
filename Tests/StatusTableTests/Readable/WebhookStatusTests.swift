import CarillonLab
import Push
import Testing

/// A user's own webhook endpoint, row by row. Standard Webhooks leaves most responses to the sender: only 410 ends a
/// subscription, and temporary errors are retried.
struct WebhookStatusTests {
    private static let rows: [StatusRow] = [
        .delivered(.html(status: 200)),
        .delivered(.html(status: 204)),
        .rejected(.html(status: 302), "redirect"),
        .rejected(.html(status: 400), "bad-request"),
        .rejected(.html(status: 401), "unauthorized"),
        .rejected(.html(status: 403), "forbidden"),
        .retry(.html(status: 404), "not-found"),
        .rejected(.html(status: 405), "other"),
        .gone(.html(status: 410), "gone"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.html(status: 425), "too-early"),
        .retry(.html(status: 429), "too-many-requests", wait: .seconds(5), holdsUp: .host),
        .retry(.says(429, retryAfter: 11), "too-many-requests", wait: .seconds(11), holdsUp: .host),
        .retry(.html(status: 500), "server-error"),
        .retry(.html(status: 502), "server-error"),
        .retry(.says(503, retryAfter: 7), "server-error", wait: .seconds(7), holdsUp: .host),
    ]

    @Test(arguments: rows)
    func everyStatus(_ row: StatusRow) async throws { try await row.check(with: Webhook()) }
}

/// A described service, with and without the operator's own rows.
struct HTTPTemplateStatusTests {
    private static let rows: [StatusRow] = [
        .delivered(.says(200)),
        .rejected(.says(200, body: #"{"error":"no"}"#), "refused"),
        .rejected(.html(status: 302), "redirect"),
        .rejected(.says(400), "bad-request"),
        .rejected(.says(401), "unauthorized"),
        .misconfigured(.says(403), "bad-key"),
        .gone(.says(404), "no-such-device"),
        .rejected(.html(status: 410), "gone"),
        .reduced(.html(status: 413), "payload-too-large"),
        .retry(.says(429, body: #"{"retry_after":11.5}"#), "slow", wait: .seconds(12)),
        .retry(.html(status: 502), "server-error"),
        .retry(.html(status: 503), "server-error", wait: .seconds(5), holdsUp: .host),
    ]

    @Test(arguments: rows)
    func everyStatus(_ row: StatusRow) async throws { try await row.check(with: HTTPTemplate()) }
}

/// Users' own endpoints. The lab's Gotify acts as a receiver: it requires a `message` and ignores the rest.
struct Webhook: PushService {
    let platform = "webhook"
    let service = LabService.gotify

    func configure(_ lab: inout LabConfiguration) { Gotify().configure(&lab) }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] { [:] }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        Gotify().place(device, lab, bench: bench)
    }

    var notification: Push.Notification {
        let native = ["webhook": #"{"message":"See you at noon"}"#]
        return Push.Notification(
            mode: .alert,
            signal: .dm,
            title: "Alice",
            body: "See you at noon",
            native: native,
            neutral: NeutralTexts(title: "New message", body: "Open the app to read it"),
            neutralPresentation: Presentation(native: native)
        )
    }

    func messageID(_ request: ReceivedRequest) -> String? { request.header("webhook-id") }
}

/// Gotify, as an operator without its plugin would describe it.
struct HTTPTemplate: PushService {
    let platform = "http"
    let service = LabService.gotify

    func configure(_ lab: inout LabConfiguration) { Gotify().configure(&lab) }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] {
        let answers: [[String: any Sendable]] = [
            ["status": 200, "when": ["/error": "no"], "outcome": "rejected", "reason": "refused"],
            ["status": 403, "outcome": "misconfigured", "reason": "bad-key"],
            ["status": 404, "outcome": "gone", "reason": "no-such-device"],
            ["status": 429, "outcome": "retry", "reason": "slow", "wait": "/retry_after"],
        ]
        let service: [String: any Sendable] = [
            "url": "{{token}}", "json": ["title": "{{title}}", "message": "{{body}}"], "answers": answers,
        ]
        return ["services": ["gotify": service]]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        Gotify().place(device, lab, bench: bench)
    }
}
