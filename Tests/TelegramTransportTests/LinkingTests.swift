import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import TelegramTransport

/// How a person's chat is linked to an app's code.
struct LinkingTests {
    private let code = TransportFixture.code

    private func chats(_ fixture: TransportFixture) -> [String] {
        fixture.host.requests.filter { $0.url.hasSuffix("sendMessage") }.compactMap {
            (try? JSONObject(parsing: $0.bodyText))?["chat_id"]?.literalText
        }
    }

    @Test func telegramLearnsWhereToPost() throws {
        let fixture = try TransportFixture()
        #expect(fixture.host.requests.isEmpty && fixture.host.timers.waits == [.zero])
        fixture.host.timers.advance(by: .zero)
        let request = try #require(fixture.host.requests.first)
        #expect(request.url == TransportFixture.methods + "setWebhook")
        #expect(
            try isSameJSON(
                request.bodyText,
                """
                {"url":"https://push.example.com/plugins/telegram/default/updates","secret_token":"\(fixture.secret)",
                "allowed_updates":["message"],"max_connections":4}
                """
            )
        )
        #expect(fixture.secret.utf8.count == 64)
        fixture.host.answer(status: 200, body: #"{"ok":true,"result":true}"#)
        #expect(fixture.host.timers.waits.isEmpty && fixture.host.log.count == 1)
        let again = try TransportFixture(kept: fixture.host.states.values)
        #expect(again.secret == fixture.secret)
    }

    @Test func theWebhookIsTriedAgain() throws {
        let fixture = try TransportFixture()
        var waits: [Duration] = []
        for index in 0..<13 {
            fixture.host.timers.advance(by: fixture.host.timers.waits.first ?? .zero)
            fixture.host.answer(index, status: 502, body: "<html>")
            waits += fixture.host.timers.waits
        }
        #expect(waits.prefix(3) == [.seconds(5), .seconds(10), .seconds(20)] && waits.last == .hours(1))
        #expect(fixture.host.log.count == 4)
        fixture.host.timers.advance(by: .hours(1))
        fixture.host.answer(13, status: 429, body: #"{"ok":false,"parameters":{"retry_after":7200}}"#)
        #expect(fixture.host.timers.waits == [.hours(2)])
        #expect(!fixture.host.log.contains { $0.contains("AAE-") || $0.contains(fixture.secret) })
    }

    @Test func linkCodesRequireAPublicURL() throws {
        let fixture = try TransportFixture(inboundURL: nil)
        #expect(fixture.host.timers.waits.isEmpty && fixture.host.states.values.isEmpty)
        #expect(fixture.refusal(of: SampleRegistration(token: "42")) == nil)
        #expect(
            fixture.refusal(of: SampleRegistration(token: code))?.contains(
                "expected a chat's number, because this router has no public URL"
            ) == true
        )
        #expect(fixture.write("/start") == nil)
    }

    @Test(arguments: ["1", "-1001234567890", "Abcdefghijklmnop", "----------------a", "4503599627370496"])
    func validTokenIsAccepted(token: String) throws {
        #expect(try TransportFixture().refusal(of: SampleRegistration(token: token)) == nil)
    }

    @Test(arguments: [
        "", "0", "-0", "007", "+7", "12345678901234567", "-12345678901234567890", "1234567890-1234567", "@channel",
        "Abcdefghijklmno", "Abcdefghijklmnop!", String(repeating: "a", count: 61),
    ])
    func invalidTokenIsRefused(token: String) throws {
        #expect(
            try TransportFixture().refusal(of: SampleRegistration(token: token))?.contains(
                "expected a chat's number, or a link code"
            ) == true
        )
    }

    @Test func codeLeadsToItsChatEvenAfterARestart() throws {
        let fixture = try TransportFixture()
        let answer = try #require(fixture.write("/start \(code)"))
        #expect(answer.status == 200)
        #expect(
            try isSameJSON(
                answer.body,
                #"{"method":"sendMessage","chat_id":42,"text":"Notifications arrive in this chat from now on."}"#
            )
        )
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: code)
        let again = try TransportFixture(kept: fixture.host.states.values)
        try again.deliver(.alert(title: "bob", body: "hello"), to: code)
        #expect(chats(fixture) == ["42"] && chats(again) == ["42"])
        let kept = fixture.host.states.values.values.map { String(decoding: $0, as: UTF8.self) }
        #expect(!kept.contains { $0.contains(code) })
    }

    @Test func unusedCodeIsWaitedForAWhile() throws {
        let fixture = try TransportFixture()
        let early = try fixture.outcome(status: 0, "", to: code, age: .minutes(14))
        #expect(early.kind == .CARILLON_RETRY && early.reason == "not-linked" && early.retryAfter == 10_000)
        #expect(early.scope == .CARILLON_SCOPE_DEVICE)
        for age in [Duration.minutes(15), .hours(24 * 400)] {
            let late = try fixture.outcome(status: 0, "", to: code, age: age)
            #expect(late.kind == .CARILLON_REJECTED && late.reason == "not-linked")
        }
        #expect(try fixture.outcome(status: 0, "", to: code, age: nil).kind == .CARILLON_REJECTED)
        #expect(chats(fixture).isEmpty)
    }

    @Test func theFirstChatKeepsACode() throws {
        let fixture = try TransportFixture()
        _ = fixture.write("/start \(code)")
        #expect(fixture.write("/start \(code)", in: 43)?.body.contains("used in another chat") == true)
        #expect(fixture.write("/start \(code)")?.body.contains("from now on") == true)
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: code)
        #expect(chats(fixture) == ["42"])
    }

    @Test func stopEndsAllAndStartBeginsAgain() throws {
        let fixture = try TransportFixture()
        let other = code + "-2"
        _ = fixture.write("/start \(code)")
        _ = fixture.write("/start \(other)")
        #expect(fixture.write("/stop")?.body.contains("No more notifications") == true)
        for token in [code, other, "42"] {
            let outcome = try fixture.outcome(status: 0, "", to: token)
            #expect(outcome.kind == .CARILLON_GONE && outcome.reason == "stopped", "\(token)")
        }
        #expect(fixture.write("/start \(code)", in: 43)?.body.contains("another chat") == true)
        _ = fixture.write("/start \(code)")
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: code)
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: "42")
        #expect(chats(fixture) == ["42", "42"])
        #expect(try fixture.outcome(status: 0, "", to: other).kind == .CARILLON_GONE)
    }

    @Test func groupsAreLinkedButMembersCannotStopThem() throws {
        let fixture = try TransportFixture()
        #expect(fixture.write("/start@example_bot \(code)", in: -100_123, type: "supergroup")?.status == 200)
        #expect(try #require(fixture.write("/stop@example_bot", in: -100_123, type: "supergroup")) == (200, ""))
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: code)
        #expect(chats(fixture) == ["-100123"])
    }

    @Test func startAloneTellsTheNumber() throws {
        let fixture = try TransportFixture()
        #expect(fixture.write("/start")?.body.contains("this chat's number: 42") == true)
        #expect(fixture.write("/start short")?.body.contains("this chat's number: 42") == true)
        for text in ["hello", "/starting", "/help", "", "x /stop"] {
            #expect(try #require(fixture.write(text)) == (200, ""), "\(text)")
        }
    }

    @Test func requestsOfOthersAreRefused() throws {
        let fixture = try TransportFixture()
        #expect(fixture.write("/start \(code)", secret: String(repeating: "0", count: 64))?.status == 403)
        #expect(fixture.write("/start \(code)", secret: "")?.status == 403)
        #expect(fixture.write("/start \(code)", path: "/other") == nil)
        #expect(try fixture.outcome(status: 0, "", to: code).reason == "not-linked")
    }

    @Test func oneChatCannotFillTheBot() throws {
        let fixture = try TransportFixture()
        for number in 0..<60 {
            #expect(fixture.write("/start code-number-\(1000 + number)")?.body.contains("from now on") == true)
        }
        let links = fixture.host.states.values.filter { $0.key.hasPrefix("links-") }
        #expect(links.values.reduce(0) { $0 + $1.count } == 20 * ChatLink.length)
    }

    @Test func fullBotEvictsOnlyOldChats() throws {
        let today = ManualClock.start.day
        let links = (0..<ChatLinks.bucketCapacity).flatMap { number in
            let digest = [UInt8](repeating: 0, count: 15) + [UInt8(number)]
            return ChatLink(digest: digest, chat: Int64(1000 + number), usedOnDay: today + UInt16(number)).bytes
        }
        let fixture = try TransportFixture(kept: [ChatLinks.key(of: code): links])
        #expect(fixture.write("/start \(code)")?.body.contains("from now on") == false)
        #expect(fixture.host.log.contains { $0.contains("the store is full") })
        fixture.clock.advance(by: .hours(30 * 24))
        #expect(fixture.write("/start \(code)")?.body.contains("from now on") == true)
        let kept = try #require(fixture.host.states.values[ChatLinks.key(of: code)])
        #expect(
            kept.count == links.count
                && Array(kept.dropLast(ChatLink.length)) == Array(links.dropFirst(ChatLink.length))
        )
    }

    @Test func appsLearnTheBotsName() throws {
        let fixture = try TransportFixture()
        let text = Said()
        _ = fixture.transport.command(["status"]) { text.text = $0.text }
        #expect(text.text == #"{"clients":{"bot":["example_bot"]}}"#)
    }

    @Test(
        "What Telegram says of the bot's token",
        arguments: [
            (200, #"{"ok":true,"result":{"username":"Example_Bot"}}"#, "accepted: @Example_Bot"),
            (
                200, #"{"ok":true,"result":{"username":"other_bot"}}"#,
                "refused: the token belongs to @other_bot, but bot is @example_bot"
            ),
            (401, #"{"ok":false,"description":"Unauthorized"}"#, "refused: bad-bot-token (401)"),
            (404, "", "refused: bad-bot-token (404)"),
            (502, "<html>", "unknown: server-error (502)"),
            (200, #"{"ok":true,"result":{}}"#, "unknown: unexpected-answer (200)"),
            (429, #"{"ok":false,"parameters":{"retry_after":3}}"#, "unknown: too-many-requests (429)"),
            (302, "", "unknown: unexpected-answer (302)"),
        ] as [(UInt32, String, String)]
    )
    func theTokenIsChecked(status: UInt32, body: String, expected: String) throws {
        let fixture = try TransportFixture(inboundURL: nil)
        let heard = Heard<CommandAnswer>()
        _ = fixture.transport.command(["check"]) { heard.add($0) }
        #expect(fixture.host.requests.map(\.url) == [TransportFixture.methods + "getMe"])
        #expect(fixture.host.requests.map(\.method) == ["GET"])
        fixture.host.answer(0, status: status, body: body)
        #expect(heard.texts == [expected])
    }

    /// Unchecked: the command answers on the test's own thread, before it returns.
    private final class Said: @unchecked Sendable {
        var text = ""
    }
}
