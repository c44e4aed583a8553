import Cipher
import DeliveryTestSupport
import Foundation
import Nostr
import Testing
import TimeTestSupport

@testable import Push

struct SealerTests {
    private let router: SecretKey
    private let device: SecretKey
    private let sealer: Sealer

    init() throws {
        router = try SecretKey(bytes: [UInt8](repeating: 1, count: 32))
        device = try SecretKey(bytes: [UInt8](repeating: 2, count: 32))
        sealer = Sealer()
    }

    private func alert(title: String = "bob", body: String = "hello", data: String = "") -> Push.Notification {
        Notification(
            mode: .sealed,
            signal: .reply,
            urgency: .high,
            title: title,
            body: body,
            category: "kind_1",
            thread: "t",
            collapseKey: "c",
            url: "nostr:x",
            actions: [NotificationAction(id: "app.reply", label: "Reply")],
            data: data,
            native: ["ios": "{}"],
            expiresAt: 99,
            neutral: NeutralTexts(title: "New notification")
        )
    }

    private func envelope(_ notification: Push.Notification) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(notification.sealed.utf8))
        return try #require(object as? [String: Any])
    }

    private func open(_ notification: Push.Notification) throws -> [UInt8] {
        let envelope = try envelope(notification)
        #expect(envelope["v"] as? Int == 1)
        #expect(envelope["alg"] as? String == "nip44")
        let sender = try #require((envelope["from"] as? String).flatMap { PublicKey(hex: $0) })
        #expect(sender.bytes.hex == Hex.encode(router.publicKeyBytes))
        let key = try ConversationKey(secret: device, public: sender)
        return try NIP44.decrypt(#require(envelope["ct"] as? String), key: key)
    }

    private func content(_ plaintext: [UInt8]) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(plaintext))
        return try #require(object as? [String: Any])
    }

    @Test func onlyNeutralTextsStayReadable() throws {
        let sealed = try sealer.seal(alert(), id: "d", for: .nip44(device.publicKeyBytes), from: router)
        var expected = Notification(mode: .sealed, signal: .reply, urgency: .high, expiresAt: 99)
        expected.neutral = NeutralTexts(title: "New notification")
        expected.sealed = sealed.sealed
        #expect(sealed == expected)
    }

    @Test func deviceDecryptsTheFullNotification() throws {
        let whole = alert(data: #"{"event_id":"e","kind":1}"#)
        let content = try content(
            open(sealer.seal(whole, id: "delivery", for: .nip44(device.publicKeyBytes), from: router))
        )
        let expected: NSDictionary = [
            "t": "reply", "id": ("delivery" as DeliveryID).description, "title": "bob", "body": "hello",
            "category": "kind_1", "thread": "t",
            "url": "nostr:x", "actions": [["id": "app.reply", "label": "Reply"]], "event_id": "e", "kind": 1,
        ]
        #expect(NSDictionary(dictionary: content) == expected)
    }

    @Test func subscriptionKeysDecryptTheEnvelope() throws {
        let subscriber = P256PrivateKey()
        let secret = SecureRandom.bytes(16)
        let key = SealingKey.webPush(
            p256dh: Base64URL.encode(subscriber.publicKey.x963Representation),
            auth: Base64URL.encode(secret)
        )
        let envelope = try envelope(sealer.seal(alert(), id: "d", for: key, from: router))
        #expect(envelope["alg"] as? String == "aes128gcm")
        let body = try #require((envelope["ct"] as? String).flatMap { Base64.decode($0) })
        let plaintext = try WebPushEncryption.decrypt(body, privateKey: subscriber, authenticationSecret: secret)
        #expect(try content(plaintext)["title"] as? String == "bob")
    }

    @Test(arguments: [0, 1, 100, 1500, 1900, 2000, 5000, 60_000])
    func envelopeLengthIsConstant(characters: Int) throws {
        let short = try sealer.seal(alert(), id: "d", for: .nip44(device.publicKeyBytes), from: router)
        let long = alert(body: String(repeating: "ü\"", count: characters))
        let sealed = try sealer.seal(long, id: "d", for: .nip44(device.publicKeyBytes), from: router)
        #expect(sealed.sealed.utf8.count == short.sealed.utf8.count)
        #expect(try open(sealed).count == SealedContent.byteCount)
    }

    @Test func referencedNoteThenBodyThenTitleAreShortened() throws {
        let note = String(repeating: "n", count: 1600)
        let body = String(repeating: "👩‍👩‍👧‍👦", count: 100)
        let data = #"{"event_id":"e","referenced_event_content":"\#(note)"}"#
        let first = try content(SealedContent(alert(body: String(body.prefix(30)), data: data), id: "d").padded())
        #expect(try #require(first["referenced_event_content"] as? String).hasSuffix("n…"))
        #expect(first["body"] as? String == String(body.prefix(30)))

        let second = try content(SealedContent(alert(body: body, data: data), id: "d").padded())
        #expect(second["referenced_event_content"] == nil)
        let shortened = try #require(second["body"] as? String)
        #expect(shortened.hasSuffix("👩‍👩‍👧‍👦…") && body.hasPrefix(shortened.dropLast()))
        #expect(second["title"] as? String == "bob")

        let third = try content(SealedContent(alert(title: body, body: body, data: data), id: "d").padded())
        #expect(third["body"] == nil)
        #expect(try #require(third["title"] as? String).hasSuffix("👩‍👩‍👧‍👦…"))
    }

    /// Escapes count with their written length: the text ends at most a few bytes before the limit.
    @Test func availableSpaceIsUsed() throws {
        let controls = String(String.UnicodeScalarView((1..<0x80).compactMap { Unicode.Scalar($0) })) + "é€😀/"
        let padded = try SealedContent(alert(body: String(repeating: controls, count: 100)), id: "d").padded()
        #expect(padded.count == SealedContent.byteCount)
        #expect(padded.reversed().prefix { $0 == UInt8(ascii: " ") }.count < 8)
        #expect(try #require(content(padded)["body"] as? String).hasPrefix(controls))
    }

    @Test func dataThatMustNotBeShortenedMayBeTooLarge() throws {
        let data = #"{"k":"\#(String(repeating: "x", count: 2048))"}"#
        #expect(throws: SealingError.tooLarge) {
            try sealer.seal(alert(data: data), id: "d", for: .nip44(device.publicKeyBytes), from: router)
        }
        #expect(throws: SealingError.badData) {
            try sealer.seal(alert(data: "[]"), id: "d", for: .nip44(device.publicKeyBytes), from: router)
        }
    }

    @Test func invalidKeysAreRefused() {
        for key in [SealingKey.nip44([1]), .nip44([UInt8](repeating: 0xFF, count: 32)), .webPush(p256dh: "", auth: "")]
        {
            #expect(throws: (any Error).self) { try sealer.seal(alert(), id: "d", for: key, from: router) }
        }
    }

    @Test func batchContainsItsCount() throws {
        let batch = Notification(mode: .sealed, signal: .reply, count: 7, title: "7 new")
        let content = try content(open(sealer.seal(batch, id: "d", for: .nip44(device.publicKeyBytes), from: router)))
        #expect(content["t"] as? String == "batch")
        #expect(content["n"] as? Int == 7)
    }

    @Test func keyMarksAreDistinctAndStable() {
        let keys: [SealingKey] = [
            .nip44([1, 2, 3]), .nip44([1, 2, 4]), .webPush(p256dh: "a", auth: "bc"), .webPush(p256dh: "ab", auth: "c"),
        ]
        #expect(Set(keys.map(\.mark)).count == 4)
        // It is on disk.
        #expect(keys[0].mark == 382_487_942_374_956_898)
    }
}
