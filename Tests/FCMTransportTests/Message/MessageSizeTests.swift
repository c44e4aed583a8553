import CarillonABI
import Foundation
import PluginTestSupport
import Testing

@testable import FCMTransport

struct MessageSizeTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func message(_ sample: SampleNotification) throws -> [String: Any]? {
        let isFirst = fixture.host.requests.isEmpty
        let outcomes = fixture.host.outcomes.count
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        if fixture.host.outcomes.count > outcomes { return nil }
        if isFirst { fixture.grant() }
        let body = try #require(fixture.host.requests.last).body
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        return object?["message"] as? [String: Any]
    }

    /// Returns the size as Google counts it: bytes of the names and values of data and of the shown strings.
    private func size(_ message: [String: Any]) throws -> Int {
        let shown = (message["android"] as? [String: Any])?["notification"] as? [String: Any] ?? [:]
        let flat = [message["data"], message["notification"], shown].compactMap { $0 as? [String: Any] }
        return try flat.flatMap { $0 }.reduce(0) { sum, member in
            let value =
                try member.value as? String
                ?? String(decoding: JSONSerialization.data(withJSONObject: member.value), as: UTF8.self)
            return sum + member.key.utf8.count + value.utf8.count
        }
    }

    @Test func tooLongMessageIsShortenedInOrder() throws {
        var sample = SampleNotification.alert(title: "title", body: String(repeating: "b", count: 1000))
        sample.subtitle = "subtitle"
        sample.data = #"{"k":"v","referenced_event_content":"\#(String(repeating: "é", count: 4000))"}"#
        let message = try #require(try message(sample))
        let data = try #require(message["data"] as? [String: String])
        #expect(data["title"] == "title")
        #expect(data["subtitle"] == "subtitle")
        #expect(data["body"] == sample.body)
        #expect(data["referenced_event_content"]?.hasSuffix("é…") == true)
        #expect((4094...4096).contains(try size(message)))
    }

    @Test func dropsTheReferencedContentAndShortensTheBody() throws {
        var sample = SampleNotification.alert(title: "title", body: String(repeating: "b", count: 5000))
        sample.data = #"{"k":"v","referenced_event_content":"c"}"#
        let message = try #require(try message(sample))
        let data = try #require(message["data"] as? [String: String])
        #expect(data["referenced_event_content"] == nil)
        #expect(data["k"] == "v")
        #expect(data["body"]?.hasSuffix("b…") == true)
        #expect(try size(message) == 4096)
    }

    @Test func notificationFieldsCountTowardsTheSize() throws {
        let sample = SampleNotification.alert(
            title: "title",
            body: String(repeating: "b", count: 5000),
            native: #"{"style":"notification","notification":{"ticker":"\#(String(repeating: "t", count: 500))"}}"#
        )
        let message = try #require(try message(sample))
        #expect((message["notification"] as? [String: String])?["body"]?.hasSuffix("b…") == true)
        #expect((4080...4096).contains(try size(message)))
    }

    @Test func messageThatCannotBeShortenedIsRejected() throws {
        var sample = SampleNotification.alert(title: "title", body: "body")
        sample.data = #"{"k":"\#(String(repeating: "v", count: 4096))"}"#
        #expect(try message(sample) == nil)
        #expect(
            fixture.host.outcomes
                == [RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, reason: "payload-too-large")]
        )
    }

    @Test func anEnvelopeOfFullSizeFits() throws {
        let envelope = #"{"v":1,"alg":"nip44","ct":"\#(String(repeating: "A", count: 4050))"}"#
        #expect(try message(.envelope(envelope, title: "n")) != nil)
        let tooLarge = #"{"v":1,"alg":"nip44","ct":"\#(String(repeating: "A", count: 4096))"}"#
        #expect(try message(.envelope(tooLarge, title: "n")) == nil)
    }

    /// The limit holds for all characters.
    @Test(arguments: ["a", "\"", "\\", "\n", "\u{1}", "é", "漢", "👨‍👩‍👧‍👦", "\u{202E}", "e\u{301}"])
    func neverExceedsTheLimit(_ character: String) throws {
        for style in ["data", "notification"] {
            for (titles, bodies) in [(10, 5000), (5000, 10), (3000, 3000), (500, 0)] {
                var sample = SampleNotification.alert(
                    title: String(repeating: character, count: titles),
                    body: String(repeating: character, count: bodies)
                )
                sample.subtitle = String(repeating: character, count: 50)
                sample.actions = [.init(id: "a", label: String(repeating: character, count: 10))]
                sample.native = #"{"style":"\#(style)"}"#
                let message = try #require(try message(sample))
                #expect(try size(message) <= 4096)
            }
        }
    }
}
