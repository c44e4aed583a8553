import CarillonABI
import CarillonLab
import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

/// A server as strict as Apple's accepts the plugin's requests, and the plugin understands its responses.
struct TransportInTheLabTests {
    private static let device = String(repeating: "ab", count: 32)

    private static func sample(_ native: String) -> SampleNotification {
        var sample = SampleNotification.alert(title: "t", body: "b", native: native)
        sample.url = "app://x"
        sample.data = #"{"k":"v"}"#
        return sample
    }

    private static let samples: [(type: String, sample: SampleNotification)] =
        PushType.allCases.map { type in
            (
                type.rawValue,
                sample(type == .liveActivity ? #"{"content-state":{}}"# : #"{"push-type":"\#(type.rawValue)"}"#)
            )
        } + [("background", .wake("dm")), ("alert", .nudge("dm", title: "t"))]

    /// A registration with a separate token for each push type.
    private static var registration: SampleRegistration {
        let tokens = DeviceTokens.fields.enumerated().map { index, name in
            (name.description, String(repeating: "0\(index)", count: 32))
        }
        return SampleRegistration(token: device, fields: tokens + [("mdm_push_magic", "magic")])
    }

    @Test(arguments: LabBench.Way.allCases) func labAcceptsEveryRequestOfThePlugin(_ way: LabBench.Way) async throws {
        let bench = try await LabBench(way)
        for (type, sample) in Self.samples {
            let outcome = try await bench.outcome(of: sample, to: Self.registration)
            let received = try #require(bench.lab.received.last)
            #expect(outcome.kind == .CARILLON_DELIVERED, "\(type): \(received.detail ?? "")")
            #expect(received.status == 200)
            if way == .token, type != "mdm" { #expect(received.header("apns-push-type") == type) }
        }
        #expect(bench.lab.received.count == Self.samples.count)
        await bench.end()
    }

    @Test func aDeviceIsFoundInTheSandbox() async throws {
        let bench = try await LabBench(.token, ["try_other_environment": true])
        bench.lab.declare(APNsDevice(token: Self.device, environment: .sandbox))
        let registration = SampleRegistration(token: Self.device)
        for _ in 0..<2 {
            #expect(try await bench.outcome(of: .wake("dm"), to: registration).kind == .CARILLON_DELIVERED)
        }
        let received = bench.lab.received
        #expect(received.map(\.service) == [.apns, .apnsSandbox, .apnsSandbox])
        #expect(received.map(\.reason) == ["BadDeviceToken", nil, nil])
        #expect(Set(received.map { $0.header("apns-id") }).count == 1)
        await bench.end()
    }

    @Test func alertReplacesACallToAnUnregisteredDevice() async throws {
        let bench = try await LabBench()
        let call = String(repeating: "cd", count: 32)
        bench.lab.declare(APNsDevice(token: call, state: .unregistered(since: 1_900_000_000_000)))
        let registration = SampleRegistration(token: Self.device, fields: [("voip_token", call)])
        for _ in 0..<2 {
            let outcome = try await bench.outcome(of: Self.sample(#"{"push-type":"voip"}"#), to: registration)
            #expect(outcome.kind == .CARILLON_DELIVERED)
        }
        #expect(bench.lab.received.map { $0.header("apns-push-type") } == ["voip", "alert", "alert"])
        await bench.end()
    }

    @Test(arguments: [LabBench.Way.token, .certificate])
    func channelsAreCreatedUsedAndDeleted(_ way: LabBench.Way) async throws {
        let bench = try await LabBench(way)
        let kept = try await bench.run("channels", "create", "--storage", "latest")
        let unkept = try await bench.run("channels", "create")
        try #require(kept.isGood && unkept.isGood, "\(kept.text) \(unkept.text)")
        #expect(try await bench.run("channels", "show", kept.text).text == "storage: latest")
        #expect(try await bench.run("channels", "show", unkept.text).text == "storage: none")
        let list = try await bench.run("channels", "list").text
        #expect(Set(list.split(separator: "\n").map(String.init)) == [kept.text, unkept.text])
        let payload = #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#
        #expect(try await bench.run("channels", "send", unkept.text, payload).text == "sent")

        var sample = Self.sample(#"{"event":"end","content-state":{"a":1}}"#)
        sample.expiresAt = 1_900_000_000_000
        for (channel, answers) in [(kept.text, 1), (unkept.text, 2)] {
            let registration = SampleRegistration(
                token: "channel:" + channel,
                fields: [("broadcast_key", LabBench.broadcastKey)]
            )
            bench.lab.forgetReceived()
            #expect(try await bench.outcome(of: sample, to: registration).kind == .CARILLON_DELIVERED)
            #expect(bench.lab.received.count == answers)
            #expect(try await bench.run("channels", "delete", channel).text == "deleted")
            let outcome = try await bench.outcome(of: sample, to: registration)
            #expect(outcome.kind == .CARILLON_GONE)
            #expect(outcome.reason == "channel-not-registered")
        }
        #expect(try await bench.run("channels", "list").text == "")
        let shown = try await bench.run("channels", "show", kept.text)
        #expect(!shown.isGood)
        #expect(shown.text.hasPrefix("APNs refused it: ChannelNotRegistered"))
        await bench.end()
    }

    /// Certificates from another issuer, like Apple's.
    @Test func certificatesAreCheckedByDate() async throws {
        let lab = try await Lab.start()
        for (days, words) in [(-1, "this one expired on"), (5, nil), (300, nil)] as [(Int, String?)] {
            let made = try lab.issuePushCertificate(topics: [lab.credentials.topic], daysLeft: days)
            let host = FakeHost()
            try CertificateFiles.withFile(made.certificatePEM + made.keyPEM) { path in
                let text = #"{"topic":"\#(lab.credentials.topic)","certificate_file":"\#(path)"}"#
                let make = { try APNsTransport(configuration: JSONObject(parsing: text), host: Host(host.pointer)) }
                if let words {
                    #expect(#expect(throws: PluginError.self) { _ = try make() }?.description.contains(words) == true)
                } else {
                    _ = try make()
                }
            }
            #expect(host.log.count == (days == 5 ? 1 : 0))
        }
        await lab.shutdown()
    }
}
