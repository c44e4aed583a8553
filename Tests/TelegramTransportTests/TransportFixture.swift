import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import TelegramTransport

/// A bot on a host that records.
struct TransportFixture: TransportBench {
    static let configuration = #"{"token":"123456:AAE-aaaaaaaaaaaaaaaaaaaaaaaaaaaa_aa","bot":"example_bot"}"#
    static let methods = "https://api.telegram.org/bot123456:AAE-aaaaaaaaaaaaaaaaaaaaaaaaaaaa_aa/"
    static let publicURL = "https://push.example.com/plugins/telegram/default"
    static let code = "Abcdefghijklmnop-1234567_x"

    let host: FakeHost
    let clock = ManualClock()
    let transport: TelegramTransport

    init(
        configuration: String = Self.configuration,
        inboundURL: String? = Self.publicURL,
        kept: [String: [UInt8]] = [:]
    ) throws {
        host = FakeHost(inboundURL: inboundURL)
        host.states.values = kept
        transport = try TelegramTransport(
            configuration: JSONObject(parsing: configuration),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    /// Delivers and returns the transport's outcome. `age`: time since the device registered; nil: unknown.
    @discardableResult
    func deliver(
        _ sample: SampleNotification,
        to token: String = "42",
        age: Duration? = .hours(1)
    ) throws -> carillon_status {
        let registeredAt = age.map { UInt64((clock.now() - $0).milliseconds) } ?? 0
        return try deliver(sample, to: SampleRegistration(token: token, registeredAt: registeredAt))
    }

    /// Returns the outcome of a message with this response.
    func outcome(
        status: UInt32,
        _ body: String,
        to token: String = "42",
        age: Duration? = .hours(1)
    ) throws -> RecordedOutcome {
        let (requests, outcomes) = (host.requests.count, host.outcomes.count)
        try deliver(.alert(title: "bob", body: "hello"), to: token, age: age)
        if host.requests.count > requests { host.answer(requests, status: status, body: body) }
        return host.outcomes[outcomes]
    }

    var device: SampleRegistration { SampleRegistration(token: "42") }

    /// The secret that Telegram got, as the router stores it.
    var secret: String { String(decoding: host.states.values["webhook-secret"] ?? [], as: UTF8.self) }

    /// Sends a user's message to the bot. Returns the response's status and body; nil if it is rejected.
    func write(
        _ text: String,
        in chat: Int64 = 42,
        type: String = "private",
        secret: String? = nil,
        path: String = "/updates"
    ) -> (status: UInt32, body: String)? {
        let update =
            #"{"update_id":1,"message":{"message_id":2,"chat":{"id":\#(chat),"type":"\#(type)"},"text":"\#(text)"}}"#
        let request = InboundRequest(
            "POST",
            path: path,
            headers: [("x-telegram-bot-api-secret-token", secret ?? self.secret)],
            body: Array(update.utf8)
        )
        let answered = Answered()
        guard case .accepted = transport.receive(request, answer: { answered.answer = $0 }) else { return nil }
        return answered.answer.map { ($0.status, String(decoding: $0.body, as: UTF8.self)) }
    }

    /// The transport answers before it returns.
    private final class Answered: @unchecked Sendable {
        var answer: InboundAnswer?
    }
}
