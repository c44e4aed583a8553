import CarillonLab
import Testing

struct APNsMisbehaviourTests {
    @Test func answersComeInTheScriptsOrder() async throws {
        let bench = try await APNsBench()
        bench.lab.misbehave(
            ScriptedBehavior(.tooManyRequests(retryAfter: 7), after: 1, times: 2),
            ScriptedBehavior(.gone, target: "0000"),
            ScriptedBehavior(.expiredProviderToken),
            ScriptedBehavior(.answer(status: 503, reason: "Shutdown"), service: .apns),
            ScriptedBehavior(.gone),
            ScriptedBehavior(.answer(status: 500), service: .unifiedPush)
        )
        let answers = try await Curl.run(Array(repeating: bench.request(), count: 6))
        // A misbehavior that skips one request leaves that request to the next misbehavior.
        #expect(answers.map(\.status) == [403, 429, 429, 503, 410, 200])
        #expect(
            answers.map(\.reason)
                == ["ExpiredProviderToken", "TooManyRequests", "TooManyRequests", "Shutdown", "Unregistered", nil]
        )
        #expect(answers.map { $0.headers["retry-after"] } == [nil, "7", "7", nil, nil, nil])
        #expect(answers[4].json["timestamp"] as? Int64 == APNsBench.now * 1_000)
        #expect(bench.lab.received.map { $0.misbehaviour?.kind }.last == .some(nil))
        await bench.lab.shutdown()
    }

    @Test func wrongRequestsAreRefusedBeforeTheScript() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.gone)] }
        let answers = try await bench.send(bench.request(body: ""), bench.request())
        #expect(answers.map(\.status) == [400, 410])
        await bench.lab.shutdown()
    }

    @Test func proxysErrorPageIsNotJSON() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.html(status: 503))] }
        let answer = try await bench.send(bench.request())[0]
        #expect(answer.status == 503)
        #expect(answer.headers["content-type"]?.hasPrefix("text/html") == true)
        #expect(answer.body.contains("<html>"))
        await bench.lab.shutdown()
    }

    @Test func aGracefulGoAwayAnswersFirst() async throws {
        let bench = try await APNsBench {
            $0.misbehaviours = [ScriptedBehavior(.goAway(gracefully: true, reason: "Shutdown"))]
        }
        let frames = try await bench.frames()
        #expect(frames.contains("recv GOAWAY frame"))
        #expect(frames.contains(#"opaque_data(21)=[{"reason":"Shutdown"}]"#), "\(frames)")
        #expect(frames.contains("(last_stream_id=13, error_code=NO_ERROR(0x00)"), "\(frames)")
        #expect(frames.contains("(stream_id=13) :status: 200"))
        let answers = try await bench.send(bench.request(), bench.request())
        #expect(answers.map(\.status) == [200, 200])
        await bench.lab.shutdown()
    }

    @Test func anAbruptGoAwayLeavesTheRequestUnprocessed() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.goAway(gracefully: false))] }
        let frames = try await bench.frames()
        #expect(frames.contains("(last_stream_id=11, error_code=NO_ERROR(0x00)"), "\(frames)")
        #expect(!frames.contains(":status"))
        #expect(bench.lab.received.map(\.status) == [nil])
        await bench.lab.shutdown()
    }

    @Test(arguments: [(UInt32(0x7), "REFUSED_STREAM"), (0x2, "INTERNAL_ERROR")])
    func streamsAreResetWithTheCodeAskedFor(_ code: UInt32, _ name: String) async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.reset(code: code))] }
        let frames = try await bench.frames()
        #expect(frames.contains("recv RST_STREAM frame"))
        #expect(frames.contains("error_code=\(name)"), "\(frames)")
        await bench.lab.shutdown()
    }

    @Test func closedConnectionSendsNoResponse() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.close)] }
        let frames = try await bench.frames()
        #expect(!frames.contains("recv GOAWAY"))
        #expect(!frames.contains(":status"))
        #expect(bench.lab.received.map(\.misbehaviour) == [.close])
        await bench.lab.shutdown()
    }

    @Test func anAnswerIsCutShort() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.cut)] }
        let frames = try await bench.frames()
        #expect(frames.contains(":status: 200"), "\(frames)")
        #expect(!frames.contains("recv GOAWAY"))
        #expect(bench.lab.received.map(\.status) == [nil])
        await bench.lab.shutdown()
    }

    @Test func randomMisbehaviourFollowsScriptedMisbehaviour() async throws {
        let bench = try await APNsBench {
            $0.misbehaviours = [ScriptedBehavior(.tooManyRequests())]
            $0.randomMisbehaviour = { service, target in
                service == .apns && target == APNsBench.token ? .answer(status: 503) : nil
            }
        }
        let answers = try await bench.send(bench.request(), bench.request())
        #expect(answers.map(\.status) == [429, 503])
        await bench.lab.shutdown()
    }

    @Test func silenceIsRecordedAndLeavesTheConnectionUsable() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.silence)] }
        async let silent = bench.send(bench.request(more: ["--max-time", "2"]))
        let request = try await bench.lab.next()
        #expect(request.status == nil)
        #expect(request.misbehaviour == .silence)
        // 28: curl timed out.
        #expect(try await silent[0].exit == 28)
        await bench.lab.shutdown()
    }

    @Test func delayedResponseArrives() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.delay(milliseconds: 300))] }
        let began = ContinuousClock.now
        #expect(try await bench.send(bench.request())[0].status == 200)
        #expect(ContinuousClock.now - began >= .milliseconds(300))
        await bench.lab.shutdown()
    }

    @Test func anyAnswerCanBeOrdered() async throws {
        let bench = try await APNsBench()
        bench.lab.misbehave(
            ScriptedBehavior(.answer(status: 410, reason: "ExpiredToken", timestamp: 1_754_000_000_000)),
            ScriptedBehavior(.answer(status: 418, reason: "Teapot", headers: [LabHeader("X-More", "yes")])),
            ScriptedBehavior(.answer(status: 400, body: "not even JSON"))
        )
        let answers = try await Curl.run(Array(repeating: bench.request(), count: 3))
        #expect(answers.map(\.status) == [410, 418, 400])
        #expect(answers[0].body == #"{"reason":"ExpiredToken","timestamp":1754000000000}"#)
        #expect(answers[1].reason == "Teapot")
        #expect(answers[1].headers["x-more"] == "yes")
        #expect(answers[2].body == "not even JSON")
        await bench.lab.shutdown()
    }

    @Test func aGoAwayCanHaveAnyCode() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.goAway(gracefully: true, code: 0xb))] }
        #expect(try await bench.frames().contains("error_code=ENHANCE_YOUR_CALM(0x0b)"))
        await bench.lab.shutdown()
    }

    @Test func theStreamLimitCanSink() async throws {
        let bench = try await APNsBench { $0.misbehaviours = [ScriptedBehavior(.limitStreams(3))] }
        let frames = try await bench.frames()
        #expect(frames.contains("[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):3]"), "\(frames)")
        #expect(frames.contains(":status: 200"))
        await bench.lab.shutdown()
    }
}
