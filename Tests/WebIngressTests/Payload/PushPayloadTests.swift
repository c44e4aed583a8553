import Cipher
import Foundation
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import WebIngress

@Suite struct PushPayloadTests {
    private static let terms = MessageTerms(PushRequest(), now: 0)
    private static let longestBody = PushPayload(Samples.platform, locKey: "").longestBody
    private static let alert = #"{"alert":{"loc-key":"apns-default-message"},"mutable-content":1}"#

    private func notification(
        _ request: PushRequest,
        id: String = "account",
        locKey: String = "apns-default-message"
    ) -> Push.Notification {
        PushPayload(Samples.platform, locKey: locKey).notification(for: id, EncryptedMessage(request), Self.terms)
    }

    private func data(_ request: PushRequest, id: String = "account") throws -> [String: String] {
        let text = notification(request, id: id).data
        return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
    }

    /// Seed 001, and the result of its service for a real message of Mastodon.
    @Test func legacyMessageIsPassedOnUnchanged() throws {
        let body: [UInt8] = [0xFB, 0xFF] + [UInt8](repeating: 7, count: 18)
        #expect(
            try data(Samples.legacy(body)) == [
                "i": "account",
                "m": "-_8HBwcHBwcHBwcHBwcHBwcHBwc=",
                "s": "AAECAwQFBgcICQoLDA0ODw",
                "k": Base64URL.encode(Samples.senderKey),
            ]
        )
        let notification = notification(Samples.legacy(body))
        #expect(notification.native == ["ios": Self.alert])
        #expect(notification.mode == .alert && notification.title.isEmpty && notification.body.isEmpty)
    }

    @Test func standardMessageIsMarkedAndComplete() throws {
        #expect(
            try data(Samples.standard) == [
                "i": "account", "e": "aes128gcm", "m": Base64URL.encodePadded(Samples.standardBody),
                "s": Samples.standardSalt, "k": Samples.standardKey,
            ]
        )
    }

    @Test func undecryptablePushIsSentAsAlertOnly() throws {
        #expect(try data(PushRequest()) == ["i": "account"])
        #expect(notification(PushRequest()).native == ["ios": Self.alert])
    }

    @Test func tooLargePushIsSentAsAlertOnly() throws {
        var sizes: [Int] = []
        for count in 2_000...Self.longestBody {
            let members = try data(Samples.legacy([UInt8](repeating: 1, count: count)))
            if members["m"] != nil { sizes.append(count) } else { #expect(members == ["i": "account"]) }
        }
        let longest = try #require(sizes.last)
        #expect(sizes == Array(2_000...longest))
        // Facts 4.7: about 2.9 KB.
        #expect((2_750...2_900).contains(longest))
        let notification = notification(Samples.legacy([UInt8](repeating: 1, count: longest)))
        let payload = #"{"aps":"# + (notification.native["ios"] ?? "") + "," + notification.data.dropFirst()
        #expect(payload.utf8.count <= 4_096 && payload.utf8.count > 4_096 - 70)
    }

    @Test func blockMatchesThePlatform() {
        #expect(IngressPlatform("ios", in: .builtIn) == Samples.platform)
        #expect(IngressPlatform("ntfy", in: .builtIn) == nil)
    }

    @Test func anyAccountFits() throws {
        for id in [String(repeating: "\"", count: 1_024), String(repeating: "\u{2028}", count: 341), "ä🔔\\/"] {
            #expect(try data(Samples.legacy(), id: id)["i"] == id)
            #expect(notification(Samples.legacy(), id: id).data.utf8.count + Self.alert.utf8.count < 4_000)
            let large = Samples.legacy([UInt8](repeating: 1, count: Self.longestBody))
            #expect(try data(large, id: id) == ["i": id])
        }
    }

    @Test func alertTextIsConfigured() {
        #expect(
            notification(PushRequest(), locKey: "quote\"d").native["ios"]
                == #"{"alert":{"loc-key":"quote\"d"},"mutable-content":1}"#
        )
    }
}
