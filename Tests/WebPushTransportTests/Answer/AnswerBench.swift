import CarillonABI
import PluginTestSupport
import Testing

/// A browser at each of the big push services, and at a self-hosted one.
struct AnswerBench {
    static let apple = "https://web.push.apple.com/QGFexample"
    static let google = "https://fcm.googleapis.com/fcm/send/cExample:APA91b"
    static let mozilla = TransportFixture.endpoint
    static let windows = "https://wns2-par02p.notify.windows.com/w/?token=example"
    static let own = "https://push.example.com/x"

    let fixture: TransportFixture

    init(_ fixture: TransportFixture) {
        self.fixture = fixture
    }

    init() throws {
        fixture = try TransportFixture()
    }

    /// Delivers to `endpoint` and answers all requests with `row`. Returns the outcome.
    func outcome(
        _ row: AnswerRow,
        from endpoint: String = mozilla,
        fields: [(name: String, value: String)] = [],
        failure: String = ""
    ) throws -> RecordedOutcome {
        var index = fixture.host.requests.count
        let ended = fixture.host.outcomes.count
        var registration = fixture.subscription(endpoint)
        registration.fields += fields
        #expect(try fixture.deliver(.wake("dm"), to: registration, ticket: 9) == .CARILLON_OK)
        while index < fixture.host.requests.count {
            fixture.host.answer(index, status: row.status, headers: row.headers, body: row.body, failure: failure)
            index += 1
        }
        #expect(fixture.host.outcomes.count == ended + 1)
        return try #require(fixture.host.outcomes.last)
    }

    /// Makes the service accept a message.
    func prove(_ endpoint: String) throws {
        #expect(
            try outcome(AnswerRow(201, .CARILLON_DELIVERED, "delivered"), from: endpoint).kind == .CARILLON_DELIVERED
        )
    }

    func lines(_ words: String) -> Int {
        fixture.host.log.filter { $0.contains(words) }.count
    }
}

extension AnswerRow {
    static func mozilla(
        _ status: UInt32,
        _ errno: Int,
        message: String = "",
        headers: [String: String] = [:],
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT,
        retryAfter: UInt32 = 0
    ) -> AnswerRow {
        let body = #"{"code":\#(status),"errno":\#(errno),"error":"…","message":"\#(message)","more_info":"…"}"#
        return AnswerRow(status, body: body, headers: headers, kind, reason, scope, retryAfter: retryAfter)
    }

    static func windows(
        _ status: UInt32,
        word: String? = nil,
        _ kind: carillon_outcome_kind,
        _ reason: String,
        _ scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> AnswerRow {
        AnswerRow(status, headers: word.map { ["x-wns-notificationstatus": $0] } ?? [:], kind, reason, scope)
    }
}
