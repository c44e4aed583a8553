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

    @Test(arguments: ["", "dance", "answer", "answer,status=99", "answer,status=many", "delay,seconds=1", "close,x"])
    func mistakesAreExplained(_ text: String) {
        let error = #expect(throws: LabError.self) { try Misbehaviour(parsing: text) }
        #expect(error?.description.isEmpty == false)
    }
}
