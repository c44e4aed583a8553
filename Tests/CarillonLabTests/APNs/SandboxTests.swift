import CarillonLab
import Testing

struct SandboxTests {
    private static let production = String(repeating: "0a", count: 32)
    private static let sandbox = String(repeating: "0b", count: 32)

    private func start() async throws -> (APNsBench, String) {
        let bench = try await APNsBench {
            $0.controlPort = 0
            $0.apns.devices = [
                APNsDevice(token: Self.production), APNsDevice(token: Self.sandbox, environment: .sandbox),
            ]
        }
        return (bench, try #require(bench.lab.addresses.apnsSandbox?.url))
    }

    @Test func devicesBelongToOneEnvironment() async throws {
        let (bench, sandbox) = try await start()
        let answers = try await bench.send(
            bench.request(path: "/3/device/" + Self.production),
            bench.request(path: "/3/device/" + Self.sandbox),
            bench.request(path: "/3/device/" + Self.production, url: sandbox),
            bench.request(path: "/3/device/" + Self.sandbox, url: sandbox)
        )
        #expect(answers.map(\.reason) == [nil, "BadDeviceToken", "BadDeviceToken", nil])
        #expect(bench.lab.received.map(\.service) == [.apns, .apns, .apnsSandbox, .apnsSandbox])
        #expect(answers[3].headers["apns-unique-id"]?.count == 36)
        #expect(answers[0].headers["apns-unique-id"] == nil)
        await bench.lab.shutdown()
    }

    @Test func devicesOfTheSandboxAreDeclaredThroughTheControlEndpoint() async throws {
        let (bench, sandbox) = try await start()
        let control = try #require(bench.lab.addresses.control)
        let token = APNsBench.token
        for body in [
            #"{"service":"apns_sandbox","token":"\#(token)","state":"unregistered","since":5}"#,
            #"{"token":"\#(token)","environment":"sandbox","state":"expired","since":6}"#,
        ] {
            #expect(try await Curl.run(control + "/tokens", "-d", body).status == 200)
            #expect(try await bench.send(bench.request(url: sandbox))[0].status == 410)
            #expect(try await bench.send(bench.request())[0].reason == "BadDeviceToken")
        }
        await bench.lab.shutdown()
    }

    @Test func sandboxMisbehavesIndependentlyOfProduction() async throws {
        let (bench, sandbox) = try await start()
        bench.lab.misbehave(ScriptedBehavior(.answer(status: 500), service: .apnsSandbox))
        #expect(try await bench.send(bench.request())[0].status == 200)
        #expect(try await bench.send(bench.request(url: sandbox))[0].reason == "InternalServerError")
        await bench.lab.shutdown()
    }
}
