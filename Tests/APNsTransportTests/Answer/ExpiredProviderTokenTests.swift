import CarillonABI
import PluginTestSupport
import Testing

@testable import APNsTransport

struct ExpiredProviderTokenTests {
    private let expired = #"{"reason":"ExpiredProviderToken"}"#

    @Test func anOldTokenIsRenewedAndTheDeliveryTriedAgain() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"), ticket: 1)
        _ = try fixture.deliver(.wake("dm"), ticket: 2)
        fixture.clock.advance(by: 30 * ManualClock.minute)
        fixture.host.answer(0, status: 403, body: expired)
        _ = try fixture.deliver(.wake("dm"), ticket: 3)
        fixture.host.answer(1, status: 403, body: expired)
        _ = try fixture.deliver(.wake("dm"), ticket: 4)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_RETRY, .CARILLON_RETRY])
        #expect(fixture.host.outcomes.map(\.reason) == ["expired-provider-token", "expired-provider-token"])
        let tokens = fixture.host.requests.map { $0.headers["authorization"] }
        #expect(tokens[0] == tokens[1])
        #expect(tokens[1] != tokens[2])
        #expect(tokens[2] == tokens[3])
        // A connection on which a token expired refuses the next one as well.
        let connections = fixture.host.requests.map(\.connection)
        #expect(connections[0] == connections[1])
        #expect(connections[1] != connections[2])
        #expect(connections[2] == connections[3])
    }

    @Test func aYoungTokenCalledExpiredMeansThatTheClocksDisagree() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.clock.advance(by: 5 * ManualClock.minute)
        fixture.host.answer(status: 403, body: expired)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_MISCONFIGURED])
        #expect(fixture.host.log.count == 1)
        _ = try fixture.deliver(.wake("dm"))
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 1)
    }
}
