import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import Storage
import Testing

@testable import HTTPTemplateTransport

/// The services in `contrib/examples/push-services`, which operators copy.
struct SnippetTests {
    /// One request from the documentation of its service.
    struct Sample: Sendable, CustomTestStringConvertible {
        var service: String
        var token: String
        var fields: [String: String] = [:]
        var native = ""
        var method = "POST"
        var url: String
        var headers = ["content-type": "application/json"]
        var body: String

        var testDescription: String { service }
    }

    /// A response of the service: status, body, outcome, reason, wait in milliseconds.
    typealias Answer = (
        service: String, status: UInt32, body: String, kind: carillon_outcome_kind, reason: String, wait: UInt32
    )

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../contrib/examples/push-services")
    private static let environment = [
        "PUSHOVER_TOKEN": "azGDORePK8gMaC0QOYAMyEEuzJnyUi", "TELEGRAM_BOT_TOKEN": "110201543:AAHdqTcv",
        "MATRIX_TOKEN": "syt_secret", "APPRISE_URL": "http://localhost:8000",
    ]
    private static let id = SampleNotification().id

    private static let samples = [
        Sample(
            service: "pushover",
            token: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG",
            fields: ["devices": "phone"],
            native: #"{"sound":"cosmic"}"#,
            url: "https://api.pushover.net/1/messages.json",
            headers: ["content-type": "application/x-www-form-urlencoded"],
            body: "device=phone&message=See%20%3Cyou%3E%20%26%20me&priority=1&sound=cosmic&title=Bob%20%E2%9A%A1"
                + "&token=azGDORePK8gMaC0QOYAMyEEuzJnyUi&url=nostr%3Anote1&user=uQiRzpo4DXghDmr9QzzfQu27cmVRsG"
        ),
        Sample(
            service: "bark",
            token: "ynJ5Ft4atkMkWeo2PAvFhF",
            native: #"{"icon":"https://i.example/x.png"}"#,
            url: "https://api.day.app/push",
            body: """
                {"device_key":"ynJ5Ft4atkMkWeo2PAvFhF","title":"Bob ⚡","body":"See <you> & me","group":"dm-bob",
                "url":"nostr:note1","level":"timeSensitive","icon":"https://i.example/x.png"}
                """
        ),
        Sample(
            service: "slack",
            token: "https://hooks.slack.com/services/T000/B000/XXXX",
            url: "https://hooks.slack.com/services/T000/B000/XXXX",
            body: #"{"text":"*Bob ⚡*\nSee &lt;you&gt; &amp; me","unfurl_links":false,"unfurl_media":false}"#
        ),
        Sample(
            service: "discord",
            token: "https://discord.com/api/webhooks/123456/abcdef",
            url: "https://discord.com/api/webhooks/123456/abcdef",
            body: #"{"content":"**Bob ⚡**\nSee <you> & me","allowed_mentions":{"parse":[]}}"#
        ),
        Sample(
            service: "telegram",
            token: "123456789",
            url: "https://api.telegram.org/bot110201543:AAHdqTcv/sendMessage",
            body: """
                {"chat_id":"123456789","text":"Bob ⚡\\nSee <you> & me","disable_notification":false,
                "link_preview_options":{"is_disabled":true}}
                """
        ),
        Sample(
            service: "matrix",
            token: "!abcdefgh:example.org",
            method: "PUT",
            url:
                "https://matrix.example.org/_matrix/client/v3/rooms/%21abcdefgh:example.org/send/m.room.message/\(id)",
            headers: ["content-type": "application/json", "authorization": "Bearer syt_secret"],
            body: """
                {"msgtype":"m.text","body":"Bob ⚡\\nSee <you> & me","format":"org.matrix.custom.html",
                "formatted_body":"<strong>Bob ⚡</strong><br>See &lt;you&gt; &amp; me","m.mentions":{}}
                """
        ),
        Sample(
            service: "apprise",
            token: "alices-key",
            fields: ["tag": "phone"],
            url: "http://localhost:8000/notify/alices-key",
            body: #"{"title":"Bob ⚡","body":"See <you> & me","type":"info","format":"text","tag":"phone"}"#
        ),
    ]

    private static let answers: [Answer] = [
        ("pushover", 200, #"{"status":1}"#, .CARILLON_DELIVERED, "delivered", 0),
        ("pushover", 400, #"{"user":"invalid","status":0}"#, .CARILLON_GONE, "unknown-user", 0),
        ("pushover", 400, #"{"token":"invalid","status":0}"#, .CARILLON_MISCONFIGURED, "bad-application", 0),
        ("pushover", 400, #"{"errors":["message cannot be blank"]}"#, .CARILLON_REJECTED, "bad-request", 0),
        ("pushover", 429, "", .CARILLON_RETRY, "quota", 3_600_000),
        ("pushover", 500, "", .CARILLON_RETRY, "server-error", 5000),
        ("bark", 400, #"{"message":"failed to get device token: …"}"#, .CARILLON_GONE, "unknown-key", 0),
        ("bark", 500, #"{"message":"push failed: BadDeviceToken"}"#, .CARILLON_GONE, "bad-device-token", 0),
        ("bark", 500, #"{"message":"push failed: Unregistered"}"#, .CARILLON_GONE, "unregistered", 0),
        ("bark", 500, #"{"message":"push failed: timeout"}"#, .CARILLON_RETRY, "server-error", 0),
        ("slack", 404, "no_service", .CARILLON_GONE, "no-webhook", 0),
        ("slack", 410, "channel_is_archived", .CARILLON_GONE, "channel-gone", 0),
        ("slack", 403, "invalid_token", .CARILLON_GONE, "revoked", 0),
        ("slack", 403, "action_prohibited", .CARILLON_REJECTED, "forbidden", 0),
        ("discord", 204, "", .CARILLON_DELIVERED, "delivered", 0),
        ("discord", 404, #"{"code":10015}"#, .CARILLON_GONE, "no-webhook", 0),
        ("discord", 401, #"{"code":50027}"#, .CARILLON_GONE, "revoked", 0),
        ("discord", 429, #"{"retry_after":0.65}"#, .CARILLON_RETRY, "too-many-requests", 650),
        ("telegram", 403, "Forbidden: bot was blocked by the user", .CARILLON_GONE, "blocked", 0),
        ("telegram", 403, "Forbidden: user is deactivated", .CARILLON_GONE, "deactivated", 0),
        ("telegram", 403, "Forbidden: bot was kicked from the group chat", .CARILLON_GONE, "kicked", 0),
        ("telegram", 400, "Bad Request: chat not found", .CARILLON_REJECTED, "chat-not-found", 0),
        ("telegram", 401, "Unauthorized", .CARILLON_MISCONFIGURED, "bad-bot-token", 0),
        ("telegram", 404, "Not Found", .CARILLON_MISCONFIGURED, "bad-bot-token", 0),
        ("telegram", 429, #"{"parameters":{"retry_after":5}}"#, .CARILLON_RETRY, "too-many-requests", 5000),
        ("matrix", 401, #"{"errcode":"M_UNKNOWN_TOKEN"}"#, .CARILLON_MISCONFIGURED, "bad-access-token", 0),
        ("matrix", 403, #"{"errcode":"M_FORBIDDEN"}"#, .CARILLON_REJECTED, "not-in-room", 0),
        ("matrix", 413, #"{"errcode":"M_TOO_LARGE"}"#, .CARILLON_REJECTED, "payload-too-large", 0),
        ("matrix", 429, #"{"retry_after_ms":2000}"#, .CARILLON_RETRY, "too-many-requests", 2000),
        ("apprise", 200, "", .CARILLON_DELIVERED, "delivered", 0),
        ("apprise", 204, "", .CARILLON_REJECTED, "no-services", 0),
        ("apprise", 424, "", .CARILLON_REJECTED, "service-failed", 0),
    ]

    private static func fixture(_ service: String) throws -> TransportFixture {
        let text = try String(contentsOf: folder.appending(path: "\(service).yaml"), encoding: .utf8)
        let file = YAMLFile(name: service) { environment[$0] }
        let json = try #require(file.parse(text)?.json())
        try file.throwMistakes()
        return try TransportFixture(configuration: #"{"services":\#(json)}"#)
    }

    @Test func everyFileIsTested() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(files) == Set(Self.samples.map { $0.service + ".yaml" }))
    }

    /// Each row of each file matches one of the responses.
    @Test(arguments: samples) func everyRowIsTested(_ sample: Sample) throws {
        let text = try String(contentsOf: Self.folder.appending(path: "\(sample.service).yaml"), encoding: .utf8)
        let rows = text.matches(of: #/- \{ status: (\w+),.* outcome: \w+, reason: ([a-z-]+)/#)
        let tested = Self.answers.filter { $0.service == sample.service }
        for row in rows {
            let isTested = tested.contains { answer in
                answer.reason == row.output.2 && "\(answer.status)".first == row.output.1.first
            }
            #expect(isTested, "\(row.output.0)")
        }
    }

    @Test(arguments: samples) func snippetRequestMatchesTheService(_ sample: Sample) throws {
        let fixture = try Self.fixture(sample.service)
        var notification = SampleNotification.alert(title: "Bob ⚡", body: "See <you> & me")
        notification.url = "nostr:note1"
        notification.thread = "dm-bob"
        notification.urgency = .CARILLON_HIGH
        notification.native = sample.native
        let registration = SampleRegistration(
            token: sample.token,
            fields: sample.fields.map { (name: $0.key, value: $0.value) }
        )
        #expect(fixture.refusal(of: registration) == nil)
        #expect(try fixture.deliver(notification, to: registration) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.last)
        #expect(request.method == sample.method && request.url == sample.url)
        #expect(request.headers == sample.headers)
        // Only URLs that users choose are restricted.
        #expect(request.flags == (sample.url == sample.token ? 2 : 0))
        if sample.body.hasPrefix("{") {
            #expect(try isSameJSON(request.bodyText, sample.body), "\(request.bodyText)")
        } else {
            #expect(request.bodyText == sample.body)
        }
    }

    /// A wake-up has neither title nor link, and every service accepts a message without them.
    @Test(arguments: samples) func wakeUpShowsTheOperatorsText(_ sample: Sample) throws {
        let fixture = try Self.fixture(sample.service)
        #expect(try fixture.deliver(.wake("dm"), to: SampleRegistration(token: sample.token)) == .CARILLON_OK)
        let body = try #require(fixture.host.requests.last).bodyText
        #expect(body.contains("New notification") || body.contains("New%20notification"))
        #expect(!body.contains("title") && !body.contains("**") && !body.contains(#"\n"#))
    }

    @Test(arguments: answers) func serviceResponsesAreRead(_ answer: Answer) throws {
        let fixture = try Self.fixture(answer.service)
        let token = try #require(Self.samples.first { $0.service == answer.service }).token
        #expect(try fixture.deliver(.wake("dm"), to: SampleRegistration(token: token)) == .CARILLON_OK)
        fixture.host.answer(status: answer.status, body: answer.body)
        let outcome = try #require(fixture.host.outcomes.first)
        #expect(outcome.kind == answer.kind && outcome.reason == answer.reason && outcome.retryAfter == answer.wait)
    }
}
