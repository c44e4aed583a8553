import Cipher
import DeliveryTestSupport
import Foundation
import Logging
import Nostr
import Push
import Registry
import Testing
import TimeTestSupport

@testable import CarillonRouter

@Suite final class DeviceSealerTests {
    private let folder: String
    private let identity: KeyPair
    private let registry: Registry
    private let sealer: DeviceSealer

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-sealer-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        identity = try KeyPair(random: SecureRandom.bytes)
        registry = try Registry(
            store: RegistryStore(path: folder + "/registry.sqlite"),
            identity: identity,
            now: { 1_773_446_400_000 },
            check: { _ in }
        )
        sealer = DeviceSealer(
            registry: registry,
            sealer: Sealer(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Registers a device with these additional members.
    private func register(_ members: String) throws -> DeviceID {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let key = try ConversationKey(secret: keys.secret, public: identity.publicKey)
        let content = #"{"platform":"ios","token":"\#(keys.publicKey.hex)"\#(members)}"#
        let event = try Event.signed(
            kind: .pushRegistration,
            createdAt: 1_773_446_300,
            tags: [["d", identity.publicKey.hex]],
            content: NIP44.encrypt(content, key: key, nonce: SecureRandom.bytes(32)),
            by: keys
        )
        #expect(try registry.apply(event).isAccepted)
        return try #require(try registry.devices(of: keys.publicKey).first?.device)
    }

    private let whole = Push.Notification(
        mode: .sealed,
        signal: .dm,
        title: "the secret",
        neutral: NeutralTexts(title: "News")
    )

    /// The user agent's keys are those of RFC 8291 section 5.
    @Test(arguments: [
        ("", "nip44"),
        (
            #","p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","#
                + #""auth":"BTBZMqHH6r4Tts7J_aSIgg""#,
            "aes128gcm"
        ),
    ])
    func notificationIsSealedToTheRegisteredKey(members: String, algorithm: String) throws {
        let device = try register(members)
        let sealed = try #require(sealer.seal(whole, id: "one", for: device))
        #expect(sealed.mode == .sealed && sealed.title.isEmpty)
        #expect(sealed.neutral == whole.neutral)
        let object = try JSONSerialization.jsonObject(with: Data(sealed.sealed.utf8))
        let envelope = try #require(object as? [String: Any])
        #expect(envelope["alg"] as? String == algorithm)
        #expect(envelope["from"] as? String == identity.publicKey.hex)
        #expect(sealer.keyMark(of: device) == (try registry.sealingKey(of: device))?.mark)
    }

    @Test func notificationWithoutAUsableKeyIsNotSealed() throws {
        #expect(sealer.seal(whole, id: "one", for: DeviceID(rawValue: 99)) == nil)
        #expect(sealer.keyMark(of: DeviceID(rawValue: 99)) == nil)
        let point = Base64URL.encode([0x04] + Array(repeating: 0xFF, count: 64))
        let nowhere = try register(#","p256dh":"\#(point)","auth":"BTBZMqHH6r4Tts7J_aSIgg""#)
        #expect(sealer.seal(whole, id: "one", for: nowhere) == nil)
    }
}
