import CarillonABI
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport
import Units

@testable import TelegramTransport

/// What the Bot API answers to `sendMessage`, row by row.
struct AnswerTests {
    struct Row: Sendable {
        let status: UInt32
        let description: String
        let kind: carillon_outcome_kind
        let reason: String
        var parameters = ""

        var body: String {
            status == 200
                ? #"{"ok":true,"result":{"message_id":1}}"#
                : #"{"ok":false,"error_code":\#(status),"description":"\#(description)"\#(parameters)}"#
        }
    }

    static let rows = [
        Row(status: 200, description: "", kind: .CARILLON_DELIVERED, reason: "delivered"),
        Row(
            status: 400,
            description: "Bad Request: can't parse entities",
            kind: .CARILLON_REJECTED,
            reason: "bad-request"
        ),
        Row(
            status: 400,
            description: "Bad Request: message is too long",
            kind: .CARILLON_REJECTED,
            reason: "payload-too-large"
        ),
        Row(
            status: 400,
            description: "Bad Request: not enough rights to send text messages to the chat",
            kind: .CARILLON_REJECTED,
            reason: "no-rights"
        ),
        Row(status: 400, description: "Bad Request: user is deactivated", kind: .CARILLON_GONE, reason: "deactivated"),
        Row(status: 401, description: "Unauthorized", kind: .CARILLON_MISCONFIGURED, reason: "bad-bot-token"),
        Row(
            status: 403,
            description: "Forbidden: bot was blocked by the user",
            kind: .CARILLON_GONE,
            reason: "blocked"
        ),
        Row(status: 403, description: "Forbidden: user is deactivated", kind: .CARILLON_GONE, reason: "deactivated"),
        Row(
            status: 403,
            description: "Forbidden: bot was kicked from the supergroup chat",
            kind: .CARILLON_GONE,
            reason: "kicked"
        ),
        Row(
            status: 403,
            description: "Forbidden: bot is not a member of the supergroup chat",
            kind: .CARILLON_GONE,
            reason: "not-a-member"
        ),
        Row(
            status: 403,
            description: "Forbidden: the group chat was deleted",
            kind: .CARILLON_GONE,
            reason: "chat-deleted"
        ),
        Row(
            status: 403,
            description: "Forbidden: bot can't initiate conversation with a user",
            kind: .CARILLON_REJECTED,
            reason: "not-started"
        ),
        Row(
            status: 403,
            description: "Forbidden: bot can't send messages to bots",
            kind: .CARILLON_REJECTED,
            reason: "forbidden"
        ),
        Row(status: 404, description: "Not Found", kind: .CARILLON_MISCONFIGURED, reason: "bad-bot-token"),
        Row(
            status: 413,
            description: "Request Entity Too Large",
            kind: .CARILLON_REJECTED,
            reason: "payload-too-large"
        ),
        Row(status: 500, description: "Internal Server Error", kind: .CARILLON_RETRY, reason: "server-error"),
        Row(status: 502, description: "Bad Gateway", kind: .CARILLON_RETRY, reason: "server-error"),
    ]

    @Test(arguments: rows) func everyAnswer(_ row: Row) throws {
        let outcome = try TransportFixture().outcome(status: row.status, row.body)
        #expect(outcome.kind == row.kind && outcome.reason == row.reason && outcome.status == row.status)
    }

    @Test func whatIsNoAnswerOfTheAPIIsTriedAgain() throws {
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

    @Test func aChatThatBroughtItsCodeIsGoneAtOnce() throws {
        let fixture = try TransportFixture()
        _ = fixture.write("/start \(TransportFixture.code)")
        _ = try fixture.outcome(status: 200, #"{"ok":true}"#, to: "43")
        let outcome = try fixture.outcome(status: 400, unknown, to: TransportFixture.code, age: .minutes(1))
        #expect(outcome.kind == .CARILLON_GONE)
    }

    private let flood =
        #"{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":7}}"#

    @Test func aFloodHoldsUpItsChatAndOfTwoChatsTheBot() throws {
        let fixture = try TransportFixture()
        let first = try fixture.outcome(status: 429, flood)
        #expect(first.kind == .CARILLON_RETRY && first.retryAfter == 7000 && first.scope == .CARILLON_SCOPE_DEVICE)
        #expect(try fixture.outcome(status: 429, flood).scope == .CARILLON_SCOPE_DEVICE)
        #expect(try fixture.outcome(status: 429, flood, to: "43").scope == .CARILLON_SCOPE_TRANSPORT)
        fixture.clock.advance(by: .seconds(8))
        #expect(try fixture.outcome(status: 429, "", to: "44").scope == .CARILLON_SCOPE_DEVICE)
    }

    @Test func aGroupThatGrewIsFollowed() throws {
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
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","api":"ftp://x"}"#, "api: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","bot":"a b"}"#, "bot: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","start_message":""}"#, "start_message: expected"),
        (#"{"token":"1:AAAAAAAAAAAAAAAAAAAA","colour":1}"#, "colour: unknown key"),
    ])
    func saysWhatIsWrongWithABlock(_ block: String, _ expected: String) {
        let error = #expect(throws: PluginError.self) { try TransportFixture(configuration: block) }
        #expect(error?.description.hasPrefix(expected) == true, "\(error.map { "\($0)" } ?? "")")
        #expect(error?.description.contains("AAAA") == false)
    }

    @Test func theTokenIsTheOneLineOfAFile() throws {
        let block = { (content: String) in
            #"{"token_file":"t","api":"http://127.0.0.1:8081/","$files":{"t":"\#(content)"}}"#
        }
        let fixture = try TransportFixture(configuration: block(#"1:AAAAAAAAAAAAAAAAAAAA\n"#))
        try fixture.deliver(.wake("dm"))
        #expect(fixture.host.requests.last?.url == "http://127.0.0.1:8081/bot1:AAAAAAAAAAAAAAAAAAAA/sendMessage")
        #expect(throws: PluginError.self) { try TransportFixture(configuration: block(#"1:AAAAAAAAAAAAAAAAAAAA\nx"#)) }
    }
}
