import CarillonLab
import Foundation
import Testing

struct VAPIDCheckTests {
    private static let good = "mailto:ops@example.com"

    private func claims(_ bench: WebPushBench, aud: String? = nil, lifetime: Int64 = 60, sub: String = good) -> String {
        #"{"aud":"\#(aud ?? bench.url)","exp":\#(APNsBench.now + lifetime),"sub":"\#(sub)"}"#
    }

    @Test(arguments: [1, 86_400] as [Int64]) func aTokenIsGoodForADay(_ lifetime: Int64) async throws {
        let bench = try await WebPushBench()
        let authorization = try await bench.authorization(claims: claims(bench, lifetime: lifetime))
        #expect(try await bench.send(authorization: authorization).status == 201)
        await bench.lab.shutdown()
    }

    @Test(
        arguments: [
            (nil, 0, good, "expired"), (nil, -60, good, "expired"), (nil, 86_401, good, "a day"),
            ("https://localhost", 60, good, "aud"), ("https://push.example.net", 60, good, "aud"),
            (nil, 60, "ops@example.com", "sub"), (nil, 60, "", "sub"),
        ] as [(String?, Int64, String, String)]
    )
    func invalidClaimsAreRefused(_ aud: String?, _ lifetime: Int64, _ sub: String, _ word: String) async throws {
        let bench = try await WebPushBench()
        let claims = claims(bench, aud: aud, lifetime: lifetime, sub: sub)
        try await expectBadToken(bench.authorization(claims: claims), bench, word)
        await bench.lab.shutdown()
    }

    @Test(
        arguments: [
            (#"{"typ":"JWT","alg":"none"}"#, nil, "ES256"), (#"{"alg":"RS256"}"#, nil, "ES256"), ("{}", nil, "JWT"),
            (#"{"typ":"XYZ","alg":"ES256"}"#, nil, "typ"), (#"{"alg":"ES256"}"#, "{}", "aud"),
            (#"{"alg":"ES256"}"#, #"{"aud":"x","exp":"soon","sub":"mailto:a@b"}"#, "exp"),
        ] as [(String, String?, String)]
    )
    func tokensOfAnotherFormAreRefused(_ header: String, _ claims: String?, _ word: String) async throws {
        let bench = try await WebPushBench()
        try await expectBadToken(bench.authorization(header: header, claims: claims), bench, word)
        await bench.lab.shutdown()
    }

    @Test func signatureOfAnotherKeyIsRefused() async throws {
        let bench = try await WebPushBench()
        let stranger = VAPIDCredentials()
        let token = try await bench.authorization(key: stranger).prefix { $0 != "," }
        try await expectBadToken("\(token), k=\(bench.vapid.applicationServerKey)", bench, "signature")
        await bench.lab.shutdown()
    }

    @Test func browserAcceptsOnlyItsSubscriptionsKey() async throws {
        let bench = try await WebPushBench()
        let stranger = try await bench.authorization(key: VAPIDCredentials())
        let answer = try await bench.send(authorization: stranger)
        #expect(answer.status == 400)
        #expect(answer.reason == "VapidPkHashMismatch")
        try bench.lab.declare(WebPushBench.subscription(applicationServerKey: nil))
        #expect(try await bench.send(authorization: stranger).status == 201)
        await bench.lab.shutdown()
    }

    @Test func theParametersMayComeInAnyOrder() async throws {
        let bench = try await WebPushBench()
        let words = try await bench.authorization().dropFirst("vapid ".count).split(separator: ", ")
        #expect(try await bench.send(authorization: "Vapid \(words[1]),\(words[0])").status == 201)
        let twice = try await bench.send(authorization: "vapid \(words[0]), \(words[0]), \(words[1])")
        #expect(twice.reason == "BadAuthorizationHeader")
        await bench.lab.shutdown()
    }

    private func expectBadToken(_ authorization: String, _ bench: WebPushBench, _ word: String) async throws {
        let answer = try await bench.send(authorization: authorization)
        #expect(answer.status == 403)
        #expect(answer.reason == "BadJwtToken")
        let detail = try await bench.lab.next().detail
        #expect(detail?.contains(word) == true, "\(detail ?? "")")
    }
}
