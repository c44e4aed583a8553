import CarillonLab
import Testing

struct FCMTests {
    @Test func takesAGoodMessageAndRecordsIt() async throws {
        let bench = try await FCMBench()
        let accessToken = try await bench.accessToken()
        let answer = try await Curl.run([bench.send(accessToken: accessToken)])[0]
        #expect(answer.status == 200)
        #expect((answer.json["name"] as? String)?.hasPrefix("projects/my-project/messages/0:") == true)
        let request = try await bench.lab.waitFor(count: 1) { $0.service == .fcm }[0]
        #expect(request.target == FCMBench.token)
        #expect(request.payload?["message"]?["data"]?["t"]?.string == "dm")
        await bench.lab.shutdown()
    }

    @Test func requestRequiresAnAccessTokenOfTheProject() async throws {
        let bench = try await FCMBench()
        let accessToken = try await bench.accessToken()
        let answers = try await Curl.run([
            bench.send(accessToken: nil), bench.send(accessToken: "ya29.other"),
            bench.send(accessToken: accessToken, project: FCMBench.otherAccount.projectID),
            bench.send(accessToken: accessToken, project: "nobody"),
            bench.send(accessToken: accessToken, project: "a/b"), bench.send(accessToken: accessToken),
        ])
        #expect(answers.map(\.status) == [401, 401, 403, 404, 404, 200])
        #expect(
            answers.map(\.googleStatus)
                == ["UNAUTHENTICATED", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "NOT_FOUND", nil]
        )
        #expect(answers.allSatisfy { $0.fcmErrorCode == nil })
        bench.lab.revokeAccessTokens()
        #expect(try await Curl.run([bench.send(accessToken: accessToken)])[0].status == 401)
        await bench.lab.shutdown()
    }

    @Test func unknownDevicesAreUnregistered() async throws {
        let bench = try await FCMBench { $0.fcm?.acceptsUndeclaredDevices = false }
        let accessToken = try await bench.accessToken()
        let table: [(FCMDevice.State?, Int, String?)] = [
            (nil, 400, "INVALID_ARGUMENT"), (.registered, 200, nil), (.unregistered, 404, "UNREGISTERED"),
            (.otherSender, 403, "SENDER_ID_MISMATCH"), (.invalid, 400, "INVALID_ARGUMENT"),
        ]
        for (state, status, code) in table {
            if let state {
                bench.lab.declare(FCMDevice(token: FCMBench.token, state: state))
            }
            let answer = try await Curl.run([bench.send(accessToken: accessToken)])[0]
            #expect(answer.status == status)
            #expect(answer.fcmErrorCode == code)
            #expect(answer.violation == (status == 400 ? "message.token" : nil))
            #expect(bench.lab.received.last?.reason == code)
        }
        await bench.lab.shutdown()
    }

    @Test func orderedMisbehaviourIsApplied() async throws {
        let bench = try await FCMBench()
        let accessToken = try await bench.accessToken()
        bench.lab.misbehave(
            ScriptedBehavior(.tooManyRequests(retryAfter: 2), service: .fcm),
            ScriptedBehavior(.answer(status: 401), service: .fcm),
            ScriptedBehavior(.answer(status: 403, reason: "SENDER_ID_MISMATCH"), target: FCMBench.token),
            ScriptedBehavior(.answer(status: 404), service: .fcm),
            ScriptedBehavior(.answer(status: 503), service: .fcm),
            ScriptedBehavior(.html(status: 500), service: .fcm)
        )
        let answers = try await Curl.run(Array(repeating: bench.send(accessToken: accessToken), count: 7))
        #expect(answers.map(\.status) == [429, 401, 403, 404, 503, 500, 200])
        #expect(
            answers.map(\.fcmErrorCode)
                == ["QUOTA_EXCEEDED", nil, "SENDER_ID_MISMATCH", "UNREGISTERED", "UNAVAILABLE", nil, nil]
        )
        #expect(answers[1].googleStatus == "UNAUTHENTICATED")
        #expect(answers[0].headers["retry-after"] == "2")
        await bench.lab.shutdown()
    }

    @Test func closingConnectionSendsNoResponses() async throws {
        let bench = try await FCMBench()
        let accessToken = try await bench.accessToken()
        bench.lab.misbehave(ScriptedBehavior(.close, service: .fcm))
        let answer = try await Curl.run([bench.send(accessToken: accessToken)])[0]
        #expect(answer.status == nil)
        #expect(bench.lab.received.last?.status == nil)
        #expect(bench.lab.received.last?.misbehaviour == .close)
        await bench.lab.shutdown()
    }

    @Test func tokensAreDeclaredThroughTheControlEndpoint() async throws {
        let bench = try await FCMBench { $0.controlPort = 0 }
        let accessToken = try await bench.accessToken()
        let control = try #require(bench.lab.addresses.control)
        let gone = #"{"service":"fcm","token":"\#(FCMBench.token)","state":"unregistered"}"#
        #expect(try await Curl.run(control + "/tokens", "-d", gone).status == 200)
        #expect(try await Curl.run([bench.send(accessToken: accessToken)])[0].fcmErrorCode == "UNREGISTERED")
        for (body, words) in [
            (#"{"service":"fcm","token":"x","state":"sleepy"}"#, "other_sender"),
            (
                #"{"service":"oauth","token":"x"}"#,
                "service is one of apns, apns_sandbox, fcm, unifiedpush, ntfy, gotify"
            ),
        ] {
            let answer = try await Curl.run(control + "/tokens", "-d", body)
            #expect(answer.status == 400)
            #expect((answer.json["error"] as? String)?.contains(words) == true, "\(answer.body)")
        }
        let seen = try await Curl.run(control + "/received?service=fcm")
        #expect(seen.body.contains(#""reason":"UNREGISTERED""#))
        await bench.lab.shutdown()
    }
}
