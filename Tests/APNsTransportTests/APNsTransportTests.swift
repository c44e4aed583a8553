import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

struct APNsTransportTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func request(_ sample: SampleNotification) throws -> RecordedRequest {
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    @Test func postsToTheDeviceOnABusyOrigin() throws {
        let request = try request(.wake("dm"))
        #expect(request.method == "POST")
        #expect(request.url == "https://api.push.apple.com/3/device/" + TransportFixture.deviceToken)
        #expect(request.flags == 1)
        #expect(Set(request.headerNames).count == request.headerNames.count)
    }

    @Test func aWakeIsABackgroundPushOfLowPriority() throws {
        var sample = SampleNotification.wake("dm")
        sample.urgency = .CARILLON_HIGH
        sample.collapseKey = "never"
        let headers = try request(sample).headers
        #expect(headers["apns-topic"] == "com.example.app")
        #expect(headers["apns-push-type"] == "background")
        #expect(headers["apns-priority"] == "5")
        #expect(headers["apns-id"] == sample.id)
        #expect(headers["apns-expiration"] == "1770086400")
        #expect(headers["apns-collapse-id"] == nil)
    }

    @Test(arguments: [(carillon_urgency.CARILLON_LOW, "5"), (.CARILLON_NORMAL, "10"), (.CARILLON_HIGH, "10")])
    func alertHasItsUrgency(_ urgency: carillon_urgency, _ priority: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.urgency = urgency
        let headers = try request(sample).headers
        #expect(headers["apns-push-type"] == "alert")
        #expect(headers["apns-priority"] == priority)
    }

    @Test(
        arguments: [
            (1_770_000_060_999, "1770000060"), (1_770_000_000_000, "0"), (5, "0"), (UInt64.max, "9223372036854775"),
        ] as [(UInt64, String)]
    )
    func expiresWhenTheNotificationDoes(_ expiresAt: UInt64, _ header: String) throws {
        var sample = SampleNotification.wake("dm")
        sample.expiresAt = expiresAt
        #expect(try request(sample).headers["apns-expiration"] == header)
    }

    @Test func idThatAppleWouldRefuseIsOmitted() throws {
        for id in [
            "", "x", "6C0F5F4E-9F4E-4C57-8C2E-0A1B2C3D4E5F", "6c0f5f4e9f4e-4c57-8c2e-0a1b2c3d4e5f-",
            "6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5\n",
        ] {
            var sample = SampleNotification.wake("dm")
            sample.id = id
            #expect(try request(sample).headers["apns-id"] == nil)
        }
    }

    @Test func collapseIDsFitIntoAHeader() throws {
        let made = try [
            "thread-1", String(repeating: "k", count: 64), String(repeating: "k", count: 65), "a\r\nb: c", "ключ",
        ].map { key in
            var sample = SampleNotification.alert(title: "t", body: "b")
            sample.collapseKey = key
            return try #require(try request(sample).headers["apns-collapse-id"])
        }
        #expect(made[0] == "thread-1")
        #expect(made[1] == String(repeating: "k", count: 64))
        #expect(made[2...].allSatisfy { $0.utf8.count == 43 })
        #expect(Set(made).count == made.count)
    }

    @Test func unknownModeIsUnsupported() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.mode = try #require(carillon_mode(rawValue: 99))
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test(arguments: [64, 66, 160, 256]) func takesTokensOfAnyLength(_ length: Int) throws {
        let token = String(repeating: "f", count: length)
        #expect(fixture.refusal(of: SampleRegistration(token: token)) == nil)
        #expect(try fixture.deliver(.wake("dm"), to: SampleRegistration(token: token)) == .CARILLON_OK)
    }

    private static func digits(_ count: Int) -> String { String(repeating: "f", count: count) }

    @Test(arguments: [
        "", "ff", digits(62), digits(65), digits(258), String(repeating: "g", count: 64), digits(62) + "/x",
        digits(63) + "\n", String(repeating: "é", count: 32), digits(62) + "\r\n",
    ])
    func invalidTokenIsRefused(_ token: String) throws {
        let registration = SampleRegistration(token: token)
        #expect(fixture.refusal(of: registration) != nil)
        #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_INVALID)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func busyHostIsReportedAsBusy() throws {
        fixture.host.setAdmission(.CARILLON_BUSY)
        #expect(try fixture.deliver(.wake("dm")) == .CARILLON_BUSY)
        #expect(fixture.host.outcomes.isEmpty)
    }

    @Test func manyThreadsShareOneToken() async throws {
        let fixture = fixture
        await withTaskGroup(of: Void.self) { group in
            for ticket in 0..<64 {
                group.addTask { _ = try? fixture.deliver(.wake("dm"), ticket: UInt64(ticket)) }
            }
        }
        #expect(fixture.host.requests.count == 64)
        #expect(Set(fixture.host.requests.map { $0.headers["authorization"] }).count == 1)
    }
}
