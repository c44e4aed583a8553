import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import TelegramTransport

/// The Bot API's responses to `sendMessage`, row by row.
struct AnswerTests {
    private static func refusal(
        _ status: UInt32,
        _ description: String,
        _ kind: carillon_outcome_kind,
        _ reason: String
    ) -> AnswerRow {
        let body = #"{"ok":false,"error_code":\#(status),"description":"\#(description)"}"#
        return AnswerRow(status, body: body, kind, reason)
    }

    static let rows = [
        AnswerRow(200, body: #"{"ok":true,"result":{"message_id":1}}"#, .CARILLON_DELIVERED, "delivered"),
        refusal(400, "Bad Request: can't parse entities", .CARILLON_REJECTED, "bad-request"),
        refusal(400, "Bad Request: message is too long", .CARILLON_REJECTED, "payload-too-large"),
        refusal(
            400,
            "Bad Request: not enough rights to send text messages to the chat",
            .CARILLON_REJECTED,
            "no-rights"
        ),
        refusal(400, "Bad Request: user is deactivated", .CARILLON_GONE, "deactivated"),
        refusal(401, "Unauthorized", .CARILLON_MISCONFIGURED, "bad-bot-token"),
        refusal(403, "Forbidden: bot was blocked by the user", .CARILLON_GONE, "blocked"),
        refusal(403, "Forbidden: user is deactivated", .CARILLON_GONE, "deactivated"),
        refusal(403, "Forbidden: bot was kicked from the supergroup chat", .CARILLON_GONE, "kicked"),
        refusal(403, "Forbidden: bot is not a member of the supergroup chat", .CARILLON_GONE, "not-a-member"),
        refusal(403, "Forbidden: the group chat was deleted", .CARILLON_GONE, "chat-deleted"),
        refusal(403, "Forbidden: bot can't initiate conversation with a user", .CARILLON_REJECTED, "not-started"),
        refusal(403, "Forbidden: bot can't send messages to bots", .CARILLON_REJECTED, "forbidden"),
        refusal(404, "Not Found", .CARILLON_MISCONFIGURED, "bad-bot-token"),
        refusal(413, "Request Entity Too Large", .CARILLON_REJECTED, "payload-too-large"),
        refusal(500, "Internal Server Error", .CARILLON_RETRY, "server-error"),
        refusal(502, "Bad Gateway", .CARILLON_RETRY, "server-error"),
    ]

    @Test(arguments: rows) func everyAnswer(_ row: AnswerRow) throws {
        let outcome = try TransportFixture().outcome(status: row.status, row.body)
        #expect(outcome.kind == row.kind && outcome.reason == row.reason && outcome.status == row.status)
    }

    @Test func invalidAPIResponseIsRetried() throws {
        let fixture = try TransportFixture()
        #expect(try fixture.outcome(status: 200, #"{"ok":false}"#).reason == "unreadable")
        #expect(try fixture.outcome(status: 200, "").kind == .CARILLON_DELIVERED)
        #expect(try fixture.outcome(status: 0, "").kind == .CARILLON_RETRY)
        #expect(try fixture.outcome(status: 403, "<html>").reason == "forbidden")
    }

    private let unknown = #"{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}"#

    @Test func anUnknownChatIsGoneOnceTheBotIsProven() throws {
        let fixture = try TransportFixture()
        #expect(try fixture.outcome(status: 400, unknown).kind == .CARILLON_RETRY)
        #expect(fixture.host.log.contains { $0.contains("knows none of the chats") })
        _ = try fixture.outcome(status: 200, #"{"ok":true}"#, to: "43")
        #expect(try fixture.outcome(status: 400, unknown).kind == .CARILLON_GONE)
        let early = try fixture.outcome(status: 400, unknown, age: .minutes(1))
        #expect(early.kind == .CARILLON_RETRY && early.retryAfter == 10_000)
    }

    @Test func chatKnownByItsCodeIsGoneImmediately() throws {
        let fixture = try TransportFixture()
        _ = fixture.write("/start \(TransportFixture.code)")
        _ = try fixture.outcome(status: 200, #"{"ok":true}"#, to: "43")
        let outcome = try fixture.outcome(status: 400, unknown, to: TransportFixture.code, age: .minutes(1))
        #expect(outcome.kind == .CARILLON_GONE)
    }

    private let flood =
        #"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#

    @Test func floodLimitPausesItsChatAndTwoPauseTheBot() throws {
        let fixture = try TransportFixture()
        let first = try fixture.outcome(status: 429, flood)
        #expect(first.kind == .CARILLON_RETRY && first.retryAfter == 7000 && first.scope == .CARILLON_SCOPE_DEVICE)
        #expect(try fixture.outcome(status: 429, flood).scope == .CARILLON_SCOPE_DEVICE)
        #expect(try fixture.outcome(status: 429, flood, to: "43").scope == .CARILLON_SCOPE_TRANSPORT)
        fixture.clock.advance(by: .seconds(8))
        #expect(try fixture.outcome(status: 429, "", to: "44").scope == .CARILLON_SCOPE_DEVICE)
    }

    @Test func migratedGroupIsFollowed() throws {
        let fixture = try TransportFixture()
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: "-5")
        let moved =
            #"{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","#
            + #""parameters":{"migrate_to_chat_id":-1005}}"#
        fixture.host.answer(0, status: 400, body: moved)
        #expect(fixture.host.requests.last?.bodyText.contains(#""chat_id":-1005"#) == true)
        fixture.host.answer(1, status: 200, body: #"{"ok":true}"#)
        #expect(fixture.host.outcomes.map(\.reason) == ["delivered"])
        try fixture.deliver(.alert(title: "bob", body: "hello"), to: "-5")
        #expect(fixture.host.requests.count == 3)
        #expect(fixture.host.requests.last?.bodyText.contains(#""chat_id":-1005"#) == true)
    }

    @Test(arguments: [
        (#"{}"#, "token_file: expected the path"), (#"{"token":"x"}"#, "token: expected a bot's token"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","token_file":"x"}"#, "token_file: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","base_url":"ftp://x"}"#, "base_url: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","bot":"a b"}"#, "bot: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","start_message":""}"#, "start_message: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","colour":1}"#, "colour: unknown key"),
    ])
    func errorsInTheBlockAreNamed(_ block: String, _ expected: String) {
        let error = #expect(throws: PluginError.self) { try TransportFixture(configuration: block) }
        #expect(error?.description.hasPrefix(expected) == true, "\(error.map { "\($0)" } ?? "")")
        #expect(error?.description.contains("AAAA") == false)
    }

    @Test func theTokenIsTheOneLineOfAFile() throws {
        let block = { (content: String) in
            #"{"token_file":"t","base_url":"http://127.0.0.1:8081/","$files":{"t":"\#(content)"}}"#
        }
        let fixture = try TransportFixture(configuration: block(#"1:AAAAAAAAAAAAAAAAAAAA\n"#))
        try fixture.deliver(.wake("dm"))
        #expect(fixture.host.requests.last?.url == "http://127.0.0.1:8081/bot1:AAAAAAAAAAAAAAAAAAAA/sendMessage")
        #expect(throws: PluginError.self) { try TransportFixture(configuration: block(#"1:AAAAAAAAAAAAAAAAAAAA\nx"#)) }
    }
}
