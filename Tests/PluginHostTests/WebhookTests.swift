import Core
import Foundation
import HTTPClient
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// The example in C that people start from.
@Suite(.timeLimit(.minutes(1)))
struct WebhookTests {
    private static let source = Workshop.repository.appending(path: "contrib/examples/plugins/webhook.c").path

    private static let address = DeviceAddress(
        platform: "webhook",
        app: "default",
        token: "https://hook.example.com/x?y=1",
        registeredAt: 1
    )

    @Test func sendsJSONToTheRegisteredURL() async throws {
        let http = RecordingHTTP()
        let bench = try Bench(Self.source, http: http)
        let body = "\"quotes\" \\ and\nlines \u{1}\u{1f} 👤 </script>"
        let notification = Notification(mode: .alert, signal: .dm, count: 2, title: "Alice", body: body, url: "nostr:x")
        #expect(
            await bench.outcome(of: notification, to: Self.address)
                == Outcome(.delivered, status: 200, reason: "delivered")
        )

        let request = try #require(http.requests.first)
        #expect(request.method == "POST")
        #expect(request.url == Self.address.token)
        #expect(request.headers == [HTTPField("content-type", "application/json")])
        #expect(request.untrustedURL)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
        #expect(Set(json.keys) == ["count", "id", "signal", "title", "body", "url"])
        #expect(json["id"] as? String == Bench.id.description)
        #expect(json["count"] as? Int == 2)
        #expect(json["signal"] as? String == "dm")
        #expect(json["title"] as? String == "Alice")
        #expect(json["body"] as? String == body)
        // The plugin reported the outcome from within a call, which may not have returned yet.
        #expect(await bench.instance.drain(deadline: .distantFuture))
    }

    @Test(arguments: [
        (200, Outcome.Kind.delivered), (204, .delivered), (301, .rejected), (400, .rejected), (404, .gone),
        (410, .gone),
        (429, .retry), (500, .retry), (503, .retry),
    ])
    func answerBecomesAnOutcome(status: Int, kind: Outcome.Kind) async throws {
        let bench = try Bench(Self.source, http: RecordingHTTP { _ in .success(HTTPResponse(status: status)) })
        let outcome = await bench.outcome(to: Self.address)
        #expect(outcome.kind == kind)
        #expect(outcome.status == UInt32(status))
    }

    @Test func noAnswerIsARetry() async throws {
        let failure = HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false)
        let bench = try Bench(Self.source, http: RecordingHTTP { _ in .failure(failure) })
        #expect(await bench.outcome(to: Self.address) == Outcome(.retry, reason: "forbidden-address"))
    }

    @Test func wakeUpShowsOnlyTheSignal() async throws {
        let http = RecordingHTTP()
        let bench = try Bench(Self.source, http: http)
        _ = await bench.outcome(of: .wake(.dm, urgency: .high), to: Self.address)
        #expect(
            http.requests.map { String(decoding: $0.body, as: UTF8.self) } == [
                #"{"count":1,"id":"\#(Bench.id)","signal":"dm"}"#
            ]
        )
    }

    @Test func sealedModeIsNeverSentInClearText() async throws {
        let http = RecordingHTTP()
        let bench = try Bench(Self.source, http: http)
        let sealed = Notification(mode: .sealed, signal: .dm, body: "secret")
        #expect(await bench.outcome(of: sealed, to: Self.address) == Outcome(.rejected, reason: "unsupported"))
        #expect(http.requests.isEmpty)
    }

    @Test func registrationMustBeAnHTTPSURL() throws {
        let bench = try Bench(Self.source)
        try bench.instance.validate(Self.address)
        var open = Self.address
        open.token = "http://hook.example.com/"
        let error = try #require(throws: PluginError.self) { try bench.instance.validate(open) }
        #expect(error.description.hasSuffix("the token must be an https:// URL"))
    }
}
