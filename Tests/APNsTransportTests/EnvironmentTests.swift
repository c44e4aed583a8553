import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

struct EnvironmentTests {
    private func device(_ environment: String) -> SampleRegistration {
        TransportFixture.device([("environment", environment)])
    }

    @Test(
        arguments: [
            ("production", nil, "", "api.push.apple.com"), ("production", nil, "production", "api.push.apple.com"),
            ("production", nil, "sandbox", "api.sandbox.push.apple.com"),
            ("production", nil, "development", "api.sandbox.push.apple.com"),
            ("production", nil, "elsewhere", "api.push.apple.com"),
            ("production", "lab:1", "sandbox", "lab:1"), ("production", "lab:1", "", "api.push.apple.com"),
            ("sandbox", nil, "", "api.sandbox.push.apple.com"), ("sandbox", nil, "production", "api.push.apple.com"),
            ("sandbox", "lab:1", "", "lab:1"), ("sandbox", "lab:1", "sandbox", "lab:1"),
            ("https://lab:2", nil, "", "lab:2"), ("https://lab:2", nil, "sandbox", "lab:2"),
            ("https://lab:2", nil, "production", "lab:2"), ("https://lab:2", "lab:1", "sandbox", "lab:1"),
            ("https://lab:2", "lab:1", "", "lab:2"),
        ] as [(String, String?, String, String)]
    )
    func environmentOfTheBuildIsTriedFirst(
        _ environment: String,
        _ sandbox: String?,
        _ field: String,
        _ host: String
    ) throws {
        let fixture = try TransportFixture(environment: environment, sandbox: sandbox.map { "https://" + $0 })
        #expect(try fixture.deliver(.wake("dm"), to: device(field)) == .CARILLON_OK)
        let url = try #require(fixture.host.requests.first).url
        #expect(url == "https://\(host)/3/device/\(TransportFixture.deviceToken)")
    }

    /// Users can register devices of the other environment, for which the operator's key may be invalid.
    @Test(
        arguments: ["BadEnvironmentKeyIdInToken", "InvalidProviderToken", "TopicDisallowed"],
        [("sandbox", carillon_outcome_kind.CARILLON_REJECTED), ("production", .CARILLON_MISCONFIGURED)]
    )
    func refusalByOneServerDoesNotPauseTheOther(
        _ reason: String,
        _ device: (environment: String, kind: carillon_outcome_kind)
    ) throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(.wake("dm"), to: self.device(device.environment)) == .CARILLON_OK)
        fixture.host.answer(status: reason == "TopicDisallowed" ? 400 : 403, body: #"{"reason":"\#(reason)"}"#)
        #expect(fixture.host.outcomes.map(\.kind) == [device.kind])
    }

    @Test func aDeadTokenIsDeadAtEitherServer() throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(.wake("dm"), to: device("sandbox")) == .CARILLON_OK)
        fixture.host.answer(status: 410, body: #"{"reason":"Unregistered"}"#)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_GONE])
    }

    @Test func theFieldIsCheckedWhenADeviceRegisters() throws {
        let fixture = try TransportFixture()
        for word in ["", "production", "sandbox", "development"] {
            #expect(fixture.refusal(of: device(word)) == nil)
        }
        #expect(fixture.refusal(of: device("Sandbox")) == "environment: expected production or sandbox")
    }
}

struct TokenMemoryTests {
    private func with<Result>(_ token: String, _ use: (BorrowedText) throws -> Result) rethrows -> Result {
        try SampleRegistration(token: token).withABI { try use(Registration($0).token) }
    }

    @Test func remembersTheLatestAndIsBounded() {
        let memory = TokenMemory<Int>(capacity: 10)
        #expect(with("0") { memory.value(of: $0) } == nil)
        for number in 0..<1000 {
            with("\(number)") { memory.remember(number, of: TokenKey($0)) }
        }
        let known = (0..<1000).filter { (number: Int) in with("\(number)") { memory.value(of: $0) } == number }
        #expect((10...20).contains(known.count))
        #expect(known == Array((1000 - known.count)..<1000))
    }

    @Test func latestEnvironmentCounts() {
        let memory = TokenMemory<Int>(capacity: 2)
        for value in 0..<10 {
            with("a") { memory.remember(value, of: TokenKey($0)) }
            with("b\(value)") { memory.remember(value, of: TokenKey($0)) }
            #expect(with("a") { memory.value(of: $0) } == value)
        }
    }
}
