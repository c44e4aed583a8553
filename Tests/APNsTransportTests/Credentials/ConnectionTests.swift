import CarillonABI
import PluginTestSupport
import Testing

@testable import APNsTransport

/// Which connections pushes go by.
struct ConnectionTests {
    @Test func allPushesOfAnAppShareTheirConnections() throws {
        let fixture = try TransportFixture()
        let device = SampleRegistration(
            token: TransportFixture.deviceToken,
            fields: [("voip_token", String(repeating: "c3", count: 32)), ("environment", "sandbox")]
        )
        var call = SampleNotification.alert(title: "t", body: "b")
        call.native = #"{"push-type":"voip"}"#
        _ = try fixture.deliver(.wake("dm"))
        _ = try fixture.deliver(call, to: device)
        #expect(Set(fixture.host.requests.map(\.connection)) == ["TEAMID1234.ABCDEFGHIJ.com.example.app.0"])
    }

    @Test func aTokenThatIsRenewedInTimeGoesByTheSame() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.clock.advance(by: 50 * ManualClock.minute)
        _ = try fixture.deliver(.wake("dm"))
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 2)
        #expect(Set(fixture.host.requests.map(\.connection)).count == 1)
    }

    @Test func aConnectionOfAnotherKeyIsLeft() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(403, "UnrelatedKeyIdInToken")
        _ = try fixture.deliver(.wake("dm"))
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_MISCONFIGURED])
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 1)
        #expect(Set(fixture.host.requests.map(\.connection)).count == 2)
    }

    @Test func wordsAreOfALengthThatHostsTake() {
        let longest = String(repeating: "x", count: 255)
        let words = [
            ConnectionWord.token(teamID: "TEAMID1234", keyID: "ABCDEFGHIJ", bundleID: longest, generation: .max),
            ConnectionWord.certificate(fingerprint: [UInt8](repeating: 255, count: 32), bundleID: longest),
        ]
        #expect(words.allSatisfy { $0.utf8.count <= 128 })
    }
}
