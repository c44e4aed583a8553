import Foundation
import Testing

@testable import CarillonLab

struct MisbehaviourTests {
    private static let each: [(String, ScriptedBehavior)] = [
        (
            "answer,status=429,retry_after=2,times=3,service=apns,after=10",
            ScriptedBehavior(.tooManyRequests(retryAfter: 2), service: .apns, after: 10, times: 3)
        ),
        ("answer,status=403,reason=ExpiredProviderToken", ScriptedBehavior(.expiredProviderToken)),
        ("html,status=502,times=0", ScriptedBehavior(.html(status: 502), times: nil)),
        (
            "answer,status=410,reason=Unregistered,timestamp=1754000000000,message=gone,header.X-WNS-Status=dropped",
            ScriptedBehavior(
                .answer(
                    status: 410,
                    reason: "Unregistered",
                    message: "gone",
                    timestamp: 1_754_000_000_000,
                    headers: [LabHeader("x-wns-status", "dropped")]
                )
            )
        ),
        ("answer,status=429,reason=42908,body=no", ScriptedBehavior(.answer(status: 429, reason: "42908", body: "no"))),
        (
            "reset,share=0.25,seed=7,burst=3,service=apns",
            ScriptedBehavior(.refuseStream, service: .apns, share: 0.25, seed: 7, burst: 3)
        ),
        (
            #"{"kind":"answer","status":410,"reason":106,"body":"{\"a\":1,\"b\":2}"}"#,
            ScriptedBehavior(.answer(status: 410, reason: "106", body: #"{"a":1,"b":2}"#))
        ),
        ("goaway,code=11", ScriptedBehavior(.goAway(gracefully: true, code: 11))),
        ("goaway", ScriptedBehavior(.goAway(gracefully: true))),
        ("goaway,gracefully=false,reason=Shutdown", ScriptedBehavior(.goAway(gracefully: false, reason: "Shutdown"))),
        ("reset,code=2", ScriptedBehavior(.reset(code: 2))),
        ("reset", ScriptedBehavior(.refuseStream)),
        ("close, target=upABC", ScriptedBehavior(.close, target: "upABC")),
        ("cut", ScriptedBehavior(.cut)),
        ("delay,milliseconds=250", ScriptedBehavior(.delay(milliseconds: 250))),
        ("kind=silence,target=1234", ScriptedBehavior(.silence, target: "1234")),
        ("streams,streams=5,service=unifiedpush", ScriptedBehavior(.limitStreams(5), service: .unifiedPush)),
    ]

    @Test(arguments: each)
    func commandLineAndJSONFormsAreEquivalent(_ text: String, _ expected: ScriptedBehavior) throws {
        let parsed = try ScriptedBehavior(parsing: text)
        #expect(parsed == expected)
        let decoded = try JSONDecoder().decode(ScriptedBehavior.self, from: JSONEncoder().encode(parsed))
        #expect(decoded == expected)
    }

    @Test(arguments: [
        "", "dance", "answer", "answer,status=99", "answer,status=many", "delay,seconds=1", "close,x", "close,share=2",
        "close,share=x", "answer,status=200,header.A:B=c", "{",
        #"{"kind":"answer","status":200,"headers":{"a":"b\nc"}}"#,
    ])
    func errorsAreExplained(_ text: String) {
        let error = #expect(throws: LabError.self) { try ScriptedBehavior(parsing: text) }
        #expect(error?.description.isEmpty == false)
    }
}

struct ScriptTests {
    private func hits(_ script: inout Script, _ count: Int) -> [Bool] {
        (0..<count).map { _ in script.next(.apns, "") != nil }
    }

    @Test func sameSeedGivesTheSameMisbehaviour() {
        var first = Script([ScriptedBehavior(.close, share: 0.1, seed: 7)])
        var second = first
        var other = Script([ScriptedBehavior(.close, share: 0.1, seed: 8)])
        let drawn = hits(&first, 10_000)
        #expect(drawn == hits(&second, 10_000))
        #expect(drawn != hits(&other, 10_000))
        // Three standard deviations of a binomial distribution around 1000.
        #expect((910...1_090).contains(drawn.count { $0 }))
    }

    @Test(arguments: [(0.0, 0), (1.0, 1_000)]) func sharesOfZeroAndOneHitNeverAndAlways(_ share: Double, _ count: Int) {
        var script = Script([ScriptedBehavior(.close, share: share, seed: 1)])
        #expect(hits(&script, 1_000).count { $0 } == count)
    }

    @Test func burstsAffectConsecutiveRequests() {
        var script = Script([ScriptedBehavior(.close, share: 0.01, seed: 3, burst: 20)])
        let runs = hits(&script, 20_000).split(separator: false)
        #expect(runs.count > 50)
        #expect(runs.dropLast().allSatisfy { $0.count % 20 == 0 })
    }

    @Test func requestSparedByOneMisbehaviourMeetsTheNext() {
        var script = Script([ScriptedBehavior(.close, share: 0, seed: 1), ScriptedBehavior(.silence)])
        #expect(script.next(.apns, "") == .silence)
        #expect(script.next(.apns, "") == nil)
    }

    @Test func pendingMisbehaviourIsListed() {
        var script = Script([ScriptedBehavior(.close, after: 2, times: 3), ScriptedBehavior(.silence, service: .fcm)])
        for _ in 0..<3 { _ = script.next(.apns, "") }
        #expect(script.pending == [ScriptedBehavior(.close, times: 2), ScriptedBehavior(.silence, service: .fcm)])
    }
}
