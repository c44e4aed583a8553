import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import FCMTransport

struct FCMTransportTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    @Test func postsToTheProjectOnABusyOrigin() throws {
        try fixture.deliver()
        fixture.grant()
        let request = try #require(fixture.host.requests.last)
        #expect(request.method == "POST")
        #expect(request.url == TransportFixture.sendURL)
        #expect(request.flags == 1)
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headerNames == ["authorization", "content-type"])
    }

    private static let tokens: [(String, Bool)] = {
        let long = String(repeating: "a", count: 100)
        return [
            (TransportFixture.deviceToken, true),
            (String(repeating: "a", count: 64), true),
            (String(repeating: "a", count: 1024), true),
            (String(repeating: "a", count: 63), false),
            (String(repeating: "a", count: 1025), false),
            ("", false),
            (long + "\"", false),
            (long + " ", false),
            (String(repeating: "é", count: 100), false),
            ("https://fcm.googleapis.com/fcm/send/" + long, false),
        ]
    }()

    @Test(arguments: tokens)
    func knowsPlausibleTokens(_ token: String, _ isPlausible: Bool) throws {
        let registration = SampleRegistration(token: token)
        let mistake = registration.withABI { abi -> String? in
            do throws(PluginError) {
                try fixture.transport.validate(Registration(abi))
                return nil
            } catch {
                return error.description
            }
        }
        let sentence = "token: expected an FCM registration token, 64 to 1024 letters, digits, -, _ and :"
        #expect(mistake == (isPlausible ? nil : sentence))
        #expect(try fixture.deliver(to: registration) == (isPlausible ? .CARILLON_OK : .CARILLON_INVALID))
    }

    @Test func unsupportedNotificationIsRefused() throws {
        var sealed = SampleNotification.alert(title: "New notification", body: "")
        sealed.mode = .CARILLON_SEALED
        #expect(try fixture.deliver(sealed) == .CARILLON_UNSUPPORTED)
        var unknown = SampleNotification.alert(title: "t", body: "b")
        unknown.mode = carillon_mode(rawValue: 9) ?? .CARILLON_WAKE
        #expect(try fixture.deliver(unknown) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
        #expect(fixture.host.outcomes.isEmpty)
    }
}
