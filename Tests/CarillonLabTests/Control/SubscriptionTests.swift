import CarillonLab
import Foundation
import Testing

struct SubscriptionTests {
    private func start() async throws -> (WebPushBench, String) {
        let bench = try await WebPushBench { $0.controlPort = 0 }
        return (bench, try #require(bench.lab.controlURL) + "/subscriptions")
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

    @Test func mayBringTheirKeysAndTakeAnybodysMessages() async throws {
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
    func mistakesAreExplained(_ order: String, _ words: String) async throws {
        let (bench, url) = try await start()
        let answer = try await Curl.run(url, "-d", order)
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? String)?.contains(words) == true, "\(answer.body)")
        await bench.lab.shutdown()
    }
}
