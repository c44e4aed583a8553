import Foundation
import Push
import RandomTestSupport
import Testing
import TimeTestSupport

@testable import WebIngress

/// Any accepted request results in JSON that Apple accepts.
@Suite struct RandomRequestsTests {
    private static let fragments = [
        "salt=", "dh=", "keyid=", "p256ecdsa=", "rs=4096", ";", ",", "=", "\"", "\\", " ", "\t",
        "AAECAwQFBgcICQoLDA0ODw",
        "AAECAwQFBgcICQoLDA0ODw==", Samples.standardKey, "é", "\u{202E}", "%", "\u{0}", "aesgcm", "aes128gcm",
        "identity", "high",
        "172800", "99999999999999999999", "-",
    ]
    private static let targets = [
        "/", "/push/", Samples.token, "ab", "?", "&", "sandbox=true", "%41", "%", "%C3%A4", "\"", "\\", "🔔",
    ]

    private struct Dice {
        var generator = SeededGenerator(seed: 7)

        mutating func line(_ fragments: [String]) -> String {
            (0..<Int.random(in: 0...8, using: &generator))
                .map { _ in fragments.randomElement(using: &generator) ?? "" }.joined()
        }

        mutating func lines() -> [String] {
            (0..<Int.random(in: 0...2, using: &generator)).map { _ in line(RandomRequestsTests.fragments) }
        }

        mutating func body() -> [UInt8]? {
            let count = Int.random(in: 0...4_000, using: &generator)
            switch Int.random(in: 0...3, using: &generator) {
            case 0: return nil
            case 1: return Samples.standardBody + [UInt8](repeating: 3, count: count)
            default: return [UInt8](repeating: UInt8.random(in: 0...255, using: &generator), count: count)
            }
        }
    }

    @Test func randomRequestsGiveValidApplePayloads() throws {
        var dice = Dice()
        var (encrypted, plain) = (0, 0)
        for _ in 0..<10_000 {
            var request = PushRequest(
                contentEncoding: dice.lines(),
                encryption: dice.lines(),
                cryptoKey: dice.lines(),
                ttl: dice.lines(),
                urgency: dice.lines(),
                body: dice.body()
            )
            if Bool.random(using: &dice.generator) { request.contentEncoding = [] }
            if Bool.random(using: &dice.generator) {
                request.encryption.append("salt=AAECAwQFBgcICQoLDA0ODw")
                request.cryptoKey.append("dh=" + Samples.standardKey)
            }
            var id = "account"
            let target = "/push/\(Samples.token)/" + dice.line(Self.targets)
            if case .push(let resource) = IngressRoute(method: "POST", target: target) { id = resource.id }
            let notification = PushPayload(Samples.platform, locKey: "apns-default-message").notification(
                for: id,
                EncryptedMessage(request),
                MessageTerms(request, now: 1_773_446_400_000)
            )
            let payload = #"{"aps":\#(notification.native["ios"] ?? ""),"# + notification.data.dropFirst()
            #expect(payload.utf8.count <= 4_096)
            let object = try #require(JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any])
            #expect(object["i"] as? String == id)
            let sealed = Set(object.keys).subtracting(["aps", "i", "e"])
            #expect(sealed == [] || sealed == ["m", "s", "k"])
            if sealed.isEmpty { plain += 1 } else { encrypted += 1 }
        }
        #expect(encrypted > 500 && plain > 500)
    }
}
