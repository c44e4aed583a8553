import CarillonLab
import Foundation
import Testing

/// The commands that control a running lab.
struct RunningLabTests {
    /// A lab in this process and a folder with its lab.json.
    private func withLab(_ body: (APNsBench, String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "/lab-test-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let bench = try await APNsBench {
            $0.controlPort = 0
            $0.folder = folder
        }
        try Data(bench.lab.addresses.json.utf8).write(to: URL(fileURLWithPath: folder + "/lab.json"))
        try await body(bench, folder)
        await bench.lab.shutdown()
    }

    private func run(_ arguments: String...) async throws -> (status: Int32, output: String) {
        let served = try Served(arguments)
        let output = await served.output()
        return (await served.end(0), output)
    }

    @Test func misbehaviourIsOrderedShownAndWithdrawn() async throws {
        try await withLab { bench, folder in
            let ordered = try await run(
                "misbehave",
                "--lab",
                folder,
                "answer,status=503,reason=Shutdown,retry_after=9,service=apns",
                "close,service=fcm"
            )
            #expect(ordered.status == 0, "\(ordered.output)")
            #expect(ordered.output.isEmpty)
            let answer = try await bench.send(bench.request())[0]
            #expect(answer.status == 503)
            #expect(answer.reason == "Shutdown")
            #expect(answer.headers["retry-after"] == "9")
            let left = try await run("misbehave", "--lab", folder + "/lab.json").output
            #expect(
                try JSONDecoder().decode(ScriptedBehavior.self, from: Data(left.utf8))
                    == ScriptedBehavior(.close, service: .fcm)
            )
            _ = try await run("misbehave", "--lab", folder, "--none", "html,status=502")
            #expect(bench.lab.script == [ScriptedBehavior(.html(status: 502))])
        }
    }

    @Test func receivedRequestsArePrintedForPeopleAndPrograms() async throws {
        try await withLab { bench, folder in
            _ = try await bench.send(bench.request(), bench.request(headers: ["apns-topic": nil]))
            let readable = try await run("received", "--lab", folder, "--service", "apns", "--wait", "2")
            #expect(readable.status == 0)
            #expect(readable.output.contains("apns 400 MissingTopic POST"))
            #expect(!readable.output.contains(APNsBench.token))
            let lines = try await run("received", "--lab", folder, "--json", "--after", "1", "--forget").output
            #expect(JSONValue(parsing: Array(lines.utf8))?["taken"] == .bool(false))
            #expect(bench.lab.received.isEmpty)
            #expect(try await run("received", "--lab", folder, "--wait", "1", "--timeout", "0").status == 1)
        }
    }

    @Test func devicesAreDeclaredAndForgotten() async throws {
        try await withLab { bench, folder in
            let gone = try await run(
                "tokens",
                "--lab",
                folder,
                "--state",
                "unregistered",
                "--since",
                "1754000000000",
                APNsBench.token
            )
            #expect(gone.status == 0, "\(gone.output)")
            #expect(try await bench.send(bench.request())[0].json["timestamp"] as? Int64 == 1_754_000_000_000)
            let topics = [
                "devices", "--lab", folder, "--topics", "com.example.other,com.example.third", APNsBench.token,
            ]
            #expect(await (try Served(topics)).output().isEmpty)
            #expect(try await bench.send(bench.request())[0].reason == "DeviceTokenNotForTopic")
            bench.lab.misbehave(ScriptedBehavior(.close))
            #expect(try await run("reset", "--lab", folder).status == 0)
            #expect(bench.lab.received.isEmpty)
            #expect(try await bench.send(bench.request())[0].status == 200)
        }
    }

    @Test func errorsAreExplained() async throws {
        try await withLab { _, folder in
            let table: [([String], String)] = [
                (["misbehave", "--lab", folder, "close", "dance"], "kind is one of"),
                (["devices", "--lab", folder, "--state", "sleepy", "ab"], "state is one of"),
                (["received", "--lab", folder + "/elsewhere"], "\(folder)/elsewhere/lab.json does not exist"),
                (["received", "--lab", folder, "--service", "pigeon"], "pigeon"),
            ]
            for (arguments, words) in table {
                let served = try Served(arguments)
                let output = await served.output()
                #expect(output.contains(words), "\(output)")
                #expect(await served.end(0) != 0)
            }
        }
    }

    @Test(arguments: ["misbehave", "received", "devices", "reset"]) func helpShowsExamples(
        _ command: String
    ) async throws {
        #expect(await (try Served([command, "--help"])).output().contains("carillon-lab \(command) --lab /tmp/lab"))
    }
}
