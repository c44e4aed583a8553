import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

/// Pushes for device management, which only certificates may send.
struct ManagedDeviceTests {
    private static let token = String(repeating: "d4", count: 32)

    private func device(magic: String?) -> SampleRegistration {
        SampleRegistration(
            token: TransportFixture.deviceToken,
            fields: [("mdm_token", Self.token)] + (magic.map { [("mdm_push_magic", $0)] } ?? [])
        )
    }

    private var sample: SampleNotification {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = #"{"k":"v"}"#
        sample.native = #"{"push-type":"mdm"}"#
        return sample
    }

    @Test func saysThePushMagicAndNothingElse() throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        _ = try fixture.deliver(sample, to: device(magic: "\"magic\""))
        let request = try #require(fixture.host.requests.first)
        #expect(request.bodyText == #"{"mdm":"\"magic\""}"#)
        #expect(request.url.hasSuffix(Self.token))
        #expect(request.headers["apns-topic"] == "com.example.app")
        #expect(request.headers["apns-push-type"] == "mdm")
        #expect(request.headers["apns-priority"] == "10")
    }

    @Test func providerTokensManageNoDevices() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(sample, to: device(magic: "magic"))
        #expect(fixture.host.requests.first?.headers["apns-push-type"] == "alert")
        #expect(fixture.host.log.count == 1)
    }

    @Test func theMagicIsCheckedWhenADeviceRegisters() throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        try device(magic: "magic").withABI { try fixture.transport.validate(Registration($0)) }
        for magic in [nil, "", String(repeating: "m", count: 257)] {
            let error = #expect(throws: PluginError.self) {
                try device(magic: magic).withABI { try fixture.transport.validate(Registration($0)) }
            }
            #expect(error?.description.hasPrefix("mdm_push_magic: expected the device's push magic") == true)
            _ = try fixture.deliver(sample, to: device(magic: magic))
            #expect(fixture.host.requests.last?.headers["apns-push-type"] == "alert")
        }
    }
}
