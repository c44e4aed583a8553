import CarillonLab
import Testing

struct APNsAcceptanceTests {
    @Test func validAlertIsAcceptedAndRecorded() async throws {
        let bench = try await APNsBench()
        let id = "123e4567-e89b-42d3-a456-426614174000"
        let answer = try await bench.send(bench.request(headers: ["apns-id": id, "apns-priority": "5"]))[0]
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        #expect(answer.headers["apns-id"] == id)
        let request = try await bench.lab.next()
        #expect(request.isAccepted)
        #expect(request.service == .apns)
        #expect(request.target == APNsBench.token)
        #expect(request.receivedAt == APNsBench.now * 1_000)
        #expect(request.header("apns-priority") == "5")
        #expect(request.payload?["aps"]?["alert"]?.string == "hello")
        await bench.lab.shutdown()
    }

    @Test(arguments: [
        ("background", "", #"{"aps":{"content-available":1},"t":"dm"}"#),
        ("voip", ".voip", #"{"aps":{},"pad":"\#(String(repeating: "x", count: 4_500))"}"#),
        ("voip", ".voip", #"{"aps":{},"pad":"\#(String(repeating: "x", count: 5_101))"}"#),
        ("liveactivity", ".push-type.liveactivity", #"{"aps":{"event":"end","timestamp":1}}"#),
        (
            "liveactivity", ".push-type.liveactivity",
            #"{"aps":{"event":"end","timestamp":1,"content-state":{},"dismissal-date":2}}"#
        ),
        (
            "liveactivity", ".push-type.liveactivity",
            #"""
            {"aps":{"event":"update","timestamp":1,"content-state":{"a":[1]},"stale-date":2.5,"relevance-score":75,
             "alert":{"title":{"loc-key":"K","loc-args":["x"]},"body":"b","sound":"default"}}}
            """#
        ),
        (
            "liveactivity", ".push-type.liveactivity",
            #"""
            {"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"A","attributes":{},
             "input-push-token":1,"alert":{"title":"t"}}}
            """#
        ),
        (
            "alert", "",
            #"""
            {"aps":{"alert":{"title-loc-key":"K","title-loc-args":["x"],"action-loc-key":null},"badge":0,
             "sound":{"critical":1,"name":"n","volume":0.5},"interruption-level":"critical","relevance-score":1,
             "thread-id":"t","category":"c","mutable-content":1,"content-available":1,"brand-new":[]}}
            """#
        ),
        ("widgets", ".push-type.widgets", #"{"aps":{"content-changed":true}}"#),
        ("alert", "", #"{"aps":{"alert":"\#(String(repeating: "x", count: 4_076))"}}"#),
    ])
    func everyPushTypeHasItsTopicAndPayload(_ pushType: String, _ suffix: String, _ payload: String) async throws {
        let bench = try await APNsBench()
        let headers = [
            "apns-push-type": pushType, "apns-priority": "5", "apns-topic": bench.lab.credentials.topic + suffix,
        ]
        let answer = try await bench.send(bench.request(headers: headers, body: payload))[0]
        #expect(answer.status == 200, "\(answer.body)")
        await bench.lab.shutdown()
    }

    @Test func clientsMustTrustTheLabsAuthority() async throws {
        let bench = try await APNsBench()
        let answer = try await Curl.run("--http2", bench.lab.apnsURL + "/3/device/" + APNsBench.token)
        // 60: the peer's certificate does not verify.
        #expect(answer.exit == 60)
        let check = try await Tool.run("openssl", ["x509", "-in", bench.lab.addresses.caFile, "-noout", "-text"])
        #expect(check.text.contains("CA:TRUE"))
        let address = bench.lab.apnsURL.replacing("localhost", with: "127.0.0.1")
        let byAddress = try await Curl.run("--http2", "--cacert", bench.lab.addresses.caFile, address + "/3/device/")
        #expect(byAddress.reason == "MethodNotAllowed")
        await bench.lab.shutdown()
    }

    @Test func oneStreamIsAllowedUntilTheFirstGoodToken() async throws {
        let bench = try await APNsBench { $0.apns.streams = 250 }
        let frames = try await bench.frames()
        // nghttp's own setting is 100.
        let limits = frames.split(separator: "\n").filter {
            $0.contains("SETTINGS_MAX_CONCURRENT_STREAMS") && !$0.contains(":100]")
        }
        #expect(limits.count == 2, "\(frames)")
        #expect(limits.first?.contains(":1]") == true)
        #expect(limits.last?.contains(":250]") == true)
        await bench.lab.shutdown()
    }

    @Test func thousandsOfRequestsShareAConnection() async throws {
        let bench = try await APNsBench { $0.apns.streamsBeforeAuthorization = 100 }
        let result = try await TemporaryFile.with(Array(APNsBench.alert.utf8)) { body in
            try await Tool.run(
                "h2load",
                ["-n", "2000", "-c", "1", "-m", "50", "-d", body, "-H", "authorization: bearer \(bench.jwt)"]
                    + ["-H", "apns-topic: \(bench.lab.credentials.topic)", "-H", "apns-push-type: alert"]
                    + [bench.lab.apnsURL + "/3/device/" + APNsBench.token]
            )
        }
        #expect(result.text.contains("2000 succeeded"), "\(result.text)")
        #expect(bench.lab.received.count == 2_000)
        #expect(Set(bench.lab.received.map(\.connection)) == [1])
        await bench.lab.shutdown()
    }
}
