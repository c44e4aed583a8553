import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import TimeTestSupport

@testable import HMSTransport

/// A transport on a host that records, with a clock of the test's.
struct TransportFixture {
    static let token = "IQAAAACy0" + String(repeating: "Ab1-_", count: 24)
    static let tokenURL = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
    static let sendURL = "https://push-api.cloud.huawei.com/v1/101234567/messages:send"
    static let block: [String: any Sendable] = ["app_id": 101_234_567, "client_secret": "secret&more="]

    let host = FakeHost()
    let clock = ManualClock()
    let transport: HMSTransport

    /// `more` goes into the configuration block.
    init(_ more: [String: any Sendable] = [:]) throws {
        let clock = clock
        transport = try HMSTransport(
            configuration: TransportFixture.object(TransportFixture.block.merging(more) { $1 }),
            host: Host(host.pointer),
            now: clock.now
        )
    }

    static func object(_ members: [String: Any]) throws -> JSONObject {
        let text = try JSONSerialization.data(withJSONObject: members)
        return try JSONObject(parsing: String(decoding: text, as: UTF8.self))
    }

    /// Delivers and returns what the transport said.
    @discardableResult
    func deliver(
        _ sample: SampleNotification = .wake("dm"),
        to token: String = token,
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        let box = TransportBox(transport, host: try Host(host.pointer))
        return SampleRegistration(token: token).withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
    }

    /// Answers the request at `index` with an access token.
    func grant(_ token: String = "DAEDAtoken", at index: Int = 0) {
        host.answer(
            index,
            status: 200,
            body: #"{"access_token":"\#(token)","expires_in":3600,"token_type":"Bearer"}"#
        )
    }

    /// Answers the request at `index` as Push Kit does.
    func answer(_ index: Int, status: UInt32 = 200, code: String, message: String = "words of theirs") throws {
        let body = try JSONSerialization.data(withJSONObject: ["code": code, "msg": message, "requestId": "1"])
        host.answer(index, status: status, body: String(decoding: body, as: UTF8.self))
    }
}
