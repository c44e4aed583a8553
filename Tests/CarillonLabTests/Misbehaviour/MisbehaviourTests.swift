import CarillonLab
import Foundation
import Testing

struct MisbehaviourTests {
    private static let each: [(String, Misbehaviour)] = [
        (
            "answer,status=429,retry_after=2,times=3,service=apns,after=10",
            Misbehaviour(.tooManyRequests(retryAfter: 2), service: .apns, after: 10, times: 3)
        ),
        ("answer,status=403,reason=ExpiredProviderToken", Misbehaviour(.expiredProviderToken)),
        ("html,status=502,times=0", Misbehaviour(.html(status: 502), times: nil)),
        (
            "answer,status=410,reason=Unregistered,timestamp=1754000000000,message=gone,header.X-WNS-Status=dropped",
            Misbehaviour(
                .answer(
                    status: 410,
                    reason: "Unregistered",
                    message: "gone",
                    timestamp: 1_754_000_000_000,
                    headers: [LabHeader("x-wns-status", "dropped")]
                )
            )
        ),
        ("answer,status=429,reason=42908,body=no", Misbehaviour(.answer(status: 429, reason: "42908", body: "no"))),
        (
            "reset,share=0.25,seed=7,burst=3,service=apns",
            Misbehaviour(.refuseStream, service: .apns, share: 0.25, seed: 7, burst: 3)
        ),
        (
            #"{"kind":"answer","status":410,"reason":106,"body":"{\"a\":1,\"b\":2}"}"#,
            Misbehaviour(.answer(status: 410, reason: "106", body: #"{"a":1,"b":2}"#))
        ),
        ("goaway,code=11", Misbehaviour(.goAway(gracefully: true, code: 11))),
        ("goaway", Misbehaviour(.goAway(gracefully: true))),
        ("goaway,gracefully=false,reason=Shutdown", Misbehaviour(.goAway(gracefully: false, reason: "Shutdown"))),
        ("reset,code=2", Misbehaviour(.reset(code: 2))),
        ("reset", Misbehaviour(.refuseStream)),
        ("close, target=upABC", Misbehaviour(.close, target: "upABC")),
        ("cut", Misbehaviour(.cut)),
        ("delay,milliseconds=250", Misbehaviour(.delay(milliseconds: 250))),
        ("kind=silence,target=1234", Misbehaviour(.silence, target: "1234")),
        ("streams,streams=5,service=unifiedpush", Misbehaviour(.limitStreams(5), service: .unifiedPush)),
    ]

    @Test(arguments: each)
    func theCommandLinesFormAndJSONSayTheSame(_ text: String, _ expected: Misbehaviour) throws {
        let parsed = try Misbehaviour(parsing: text)
        #expect(parsed == expected)
        let decoded = try JSONDecoder().decode(Misbehaviour.self, from: JSONEncoder().encode(parsed))
        #expect(decoded == expected)
    }

    @Test(arguments: [
        "", "dance", "answer", "answer,status=99", "answer,status=many", "delay,seconds=1", "close,x", "close,share=2",
        "close,share=x", "answer,status=200,header.A:B=c", "{",
        #"{"kind":"answer","status":200,"headers":{"a":"b\nc"}}"#,
    ])
    func mistakesAreExplained(_ text: String) {
        let error = #expect(throws: LabError.self) { try Misbehaviour(parsing: text) }
        #expect(error?.description.isEmpty == false)
    }
}
