import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import TelegramTransport

struct MessageTests {
    private func request(_ sample: SampleNotification, configuration: String? = nil) throws -> RecordedRequest {
        let fixture = try TransportFixture(configuration: configuration ?? TransportFixture.configuration)
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    private func text(_ sample: SampleNotification) throws -> String {
        let body = try JSONObject(parsing: request(sample).bodyText)
        return try #require(body["text"]?.string)
    }

    @Test func aMessageIsHTMLWithoutPreviews() throws {
        let request = try request(.alert(title: "bob", body: "hello"))
        #expect(request.method == "POST" && request.url == TransportFixture.methods + "sendMessage")
        #expect(request.headers == ["content-type": "application/json"])
        #expect(
            try isSameJSON(
                request.bodyText,
                """
                {"chat_id":42,"text":"<b>bob</b>\\nhello","parse_mode":"HTML",
                "link_preview_options":{"is_disabled":true}}
                """
            )
        )
    }

    @Test func untrustedTextIsEscaped() throws {
        #expect(
            try text(.alert(title: "<i>&", body: "a \"b\" </b>")) == "<b>&lt;i&gt;&amp;</b>\na &quot;b&quot; &lt;/b&gt;"
        )
    }

    @Test func titleLinksToTheNotificationsURL() throws {
        var sample = SampleNotification.alert(title: "bob", body: "hello")
        sample.subtitle = "in #nostr"
        sample.url = "https://example.com/?a=1&b=2"
        let link = #"<b><a href="https://example.com/?a=1&amp;b=2">bob</a></b>"#
        #expect(try text(sample) == link + "\nin #nostr\nhello")
        sample.title = ""
        #expect(try text(sample) == "in #nostr\nhello\nhttps://example.com/?a=1&amp;b=2")
        sample.url = "nostr:note1"
        #expect(try text(sample) == "in #nostr\nhello")
    }

    @Test func buttonsWithAURLAreShown() throws {
        var sample = SampleNotification.alert(title: "bob", body: "hello")
        sample.actions = [
            .init(id: "a", label: "Like"), .init(id: "b", label: "Open", url: "https://example.com/b"),
            .init(id: "c", label: "App", url: "nostr:note1"),
            .init(id: "d", label: "Bot", url: "tg://resolve?domain=x"),
            .init(id: "e", label: "Here", url: "http://localhost/e"),
        ]
        let body = try request(sample).bodyText
        #expect(
            body.contains(
                #""reply_markup":{"inline_keyboard":[[{"text":"Open","url":"https://example.com/b"}],"#
                    + #"[{"text":"Bot","url":"tg://resolve?domain=x"}]]}"#
            )
        )
    }

    @Test func lowUrgencyMessageMakesNoSound() throws {
        var sample = SampleNotification.alert(title: "bob", body: "hello")
        sample.urgency = .CARILLON_LOW
        #expect(try request(sample).bodyText.contains(#""disable_notification":true"#))
        sample.native = #"{"silent":false,"protect_content":true,"link_preview":true}"#
        let body = try request(sample).bodyText
        #expect(!body.contains("disable_notification") && body.contains(#""protect_content":true"#))
        #expect(body.contains(#""link_preview_options":{"is_disabled":false}"#))
    }

    @Test func wakeUpShowsTheOperatorsText() throws {
        let german =
            #"{"token":"123456:AAE-aaaaaaaaaaaaaaaaaaaaaaaaaaaa_aa","batch_message":"{n} neue & mehr"}"#
        #expect(try text(.wake("dm")) == "New notification")
        #expect(try request(.wake("dm", count: 3), configuration: german).bodyText.contains("3 neue &amp; mehr"))
    }

    @Test func sealedModeIsUnsupported() throws {
        var sample = SampleNotification.alert(title: "bob", body: "hello")
        sample.mode = .CARILLON_SEALED
        #expect(try TransportFixture().deliver(sample) == .CARILLON_UNSUPPORTED)
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(.alert(title: " ", body: "\n")) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-empty"])
    }

    @Test(arguments: ["ü", "<", "😀"])
    func textLengthIsCountedLikeTelegram(character: String) throws {
        let text = try text(.alert(title: "bob", body: String(repeating: character, count: 5000)))
        let shown = text.replacing("<b>", with: "").replacing("</b>", with: "").replacing("&lt;", with: "<")
        #expect((4095...4096).contains(shown.utf16.count) && shown.hasSuffix("…") && shown.hasPrefix("bob\n"))
    }
}
