import CarillonLab
import Foundation
import Testing

struct ControlTests {
    private func start() async throws -> (APNsBench, String) {
        let bench = try await APNsBench { $0.controlPort = 0 }
        return (bench, try #require(bench.lab.addresses.control))
    }

    @Test func receivedRequestsAreReadAsJSONLines() async throws {
        let (bench, control) = try await start()
        _ = try await bench.send(bench.request(), bench.request(headers: ["apns-topic": nil]))
        let answer = try await Curl.run(control + "/received?wait=2&service=apns")
        #expect(answer.status == 200)
        let lines = answer.body.split(separator: "\n").compactMap { JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.map { $0["status"]?.integer } == [200, 400])
        #expect(lines[0]["payload"]?["aps"]?["alert"]?.string == "hello")
        #expect(lines[0]["target"]?.string == APNsBench.token)
        #expect(lines[1]["reason"]?.string == "MissingTopic")
        let later = try await Curl.run(control + "/received?after=1")
        #expect(later.body.split(separator: "\n").count == 1)
        let none = try await Curl.run(control + "/received?service=unifiedpush")
        #expect(none.body.isEmpty)
        #expect(try await Curl.run("-X", "DELETE", control + "/received").status == 200)
        #expect(bench.lab.received.isEmpty)
        await bench.lab.shutdown()
    }

    @Test func waitingEndsWithTheRequestOrWithTheTime() async throws {
        let (bench, control) = try await start()
        async let waiting = Curl.run(control + "/received?wait=1&timeout_ms=15000")
        _ = try await bench.send(bench.request())
        #expect(try await waiting.status == 200)
        let late = try await Curl.run(control + "/received?wait=2&timeout_ms=10")
        #expect(late.status == 408)
        #expect(late.body.split(separator: "\n").count == 1)
        await bench.lab.shutdown()
    }

    @Test func misbehaviourTokensAndReceiversAreOrderedWhileItRuns() async throws {
        let (bench, control) = try await start()
        let gone = #"{"token":"\#(APNsBench.token)","state":"unregistered","since":1754000000000}"#
        #expect(try await Curl.run(control + "/tokens", "-d", gone).status == 200)
        #expect(try await bench.send(bench.request())[0].json["timestamp"] as? Int64 == 1_754_000_000_000)
        let back = #"[{"token":"\#(APNsBench.token)","topics":["com.example.app"]}]"#
        #expect(try await Curl.run(control + "/tokens", "-d", back).status == 200)
        let script = #"[{"kind":"answer","status":429,"retry_after":2},{"kind":"html","status":502,"times":0}]"#
        #expect(try await Curl.run(control + "/misbehave", "-d", script).status == 200)
        let answers = try await Curl.run(Array(repeating: bench.request(), count: 3))
        #expect(answers.map(\.status) == [429, 502, 502])
        #expect(try await Curl.run("-X", "DELETE", control + "/misbehave").status == 200)
        #expect(try await bench.send(bench.request())[0].status == 200)
        let keys =
            #"{"topic":"up1","private_key":"q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94","auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#
        #expect(try await Curl.run(control + "/receivers", "-d", keys).status == 200)
        await bench.lab.shutdown()
    }

    @Test(arguments: [
        ("/misbehave", "{", "JSON"), ("/misbehave", #"{"kind":"dance"}"#, "kind is one of"),
        ("/misbehave", #"{"kind":"answer"}"#, #""status" is missing"#), ("/tokens", #"{"state":"bad"}"#, #""token""#),
        ("/tokens", #"{"token":"ab","state":"sleepy"}"#, "state is one of"),
        ("/receivers", #"{"topic":"a","private_key":"AA","auth":"AA"}"#, "expected 32 bytes"),
    ])
    func errorsAreExplained(_ path: String, _ body: String, _ words: String) async throws {
        let (bench, control) = try await start()
        let answer = try await Curl.run(control + path, "-d", body)
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? String)?.contains(words) == true, "\(answer.body)")
        await bench.lab.shutdown()
    }

    @Test func labAddressIsReported() async throws {
        let (bench, control) = try await start()
        let answer = try await Curl.run(control + "/")
        let addresses = try JSONDecoder().decode(LabAddresses.self, from: Data(answer.body.utf8))
        #expect(addresses == bench.lab.addresses)
        #expect(try await Curl.run(control + "/elsewhere").status == 404)
        #expect(try await Curl.run(control + "/received?wait=soon").status == 400)
        await bench.lab.shutdown()
    }
}

struct SubscriptionTests {
    private func start() async throws -> (WebPushBench, String) {
        let bench = try await WebPushBench { $0.controlPort = 0 }
        return (bench, try #require(bench.lab.addresses.control) + "/subscriptions")
    }

    @Test func areMadeAsABrowserDescribesThemAndForgotten() async throws {
        let (bench, url) = try await start()
        let made = try await Curl.run(url, "-d", #"{"id":"alice"}"#)
        #expect(made.status == 201)
        #expect(made.json["endpoint"] as? String == bench.url + "/push/alice")
        let keys = try #require(made.json["keys"] as? [String: String])
        #expect(try WebPushBench.bytes(#require(keys["p256dh"])).count == 65)
        #expect(try WebPushBench.bytes(#require(keys["auth"])).count == 16)
        let path = "/push/alice"
        #expect(try await bench.send(path: path, body: []).status == 201)
        #expect(try await Curl.run("-X", "DELETE", url + "?id=alice").status == 200)
        #expect(try await bench.send(path: path, body: []).status == 410)
        #expect(try await Curl.run("-X", "DELETE", url + "?id=alice").status == 404)
        await bench.lab.shutdown()
    }

    @Test func subscriptionsMayBringKeysAndAcceptAnySendersMessages() async throws {
        let (bench, url) = try await start()
        let order = #"""
            {"id":"bob","private_key":"q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94","auth":"BTBZMqHH6r4Tts7J_aSIgg",
             "application_server_key":"any"}
            """#
        #expect(try await Curl.run(url, "-d", order).status == 201)
        let stranger = try await bench.authorization(key: VAPIDCredentials())
        #expect(try await bench.send(path: "/push/bob", authorization: stranger).status == 201)
        let decrypted = try await bench.lab.next().decrypted
        #expect(decrypted == Array(WebPushBench.message.utf8))
        await bench.lab.shutdown()
    }

    @Test(arguments: [
        (#"{"id":"a b"}"#, "base64url"), (#"{"id":7}"#, #""id""#), ("[", "JSON"),
        (#"{"private_key":"AA","auth":"AA"}"#, "expected 32 bytes"),
        (#"{"auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#, "private_key"),
    ])
    func errorsAreExplained(_ order: String, _ words: String) async throws {
        let (bench, url) = try await start()
        let answer = try await Curl.run(url, "-d", order)
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? String)?.contains(words) == true, "\(answer.body)")
        await bench.lab.shutdown()
    }
}
