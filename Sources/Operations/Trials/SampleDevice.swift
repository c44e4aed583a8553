import Cipher
import Core
import Foundation
import HTTPClient
import Nostr
import PluginHost
import Push

/// A simulated device of one platform. Its keys are known, so payloads encrypted to it can be shown.
package struct SampleDevice: Sendable {
    package var address: DeviceAddress
    /// The keys of the simulated router that encrypts for the device if the transport does not.
    private let sealing: (key: SealingKey, sender: SecretKey)?
    private let privateKey: P256PrivateKey
    private let secret: [UInt8]

    /// `description` is from the platform's plugin. `token` and `fields` replace or extend the sample values.
    package init(
        platform: String,
        _ description: PlatformDescription?,
        app: String = "default",
        token: String? = nil,
        fields: [String: String] = [:]
    ) {
        privateKey = P256PrivateKey()
        secret = SecureRandom.bytes(WebPushKeys.authenticationSecretByteCount)
        let p256dh = Base64URL.encode(privateKey.publicKey.x963Representation)
        let auth = Base64URL.encode(secret)
        let sender = try? SecretKey(bytes: [UInt8](repeating: 1, count: SecretKey.byteCount))
        sealing = sender.map { (.webPush(p256dh: p256dh, auth: auth), $0) }
        address = DeviceAddress(
            platform: platform,
            app: app,
            token: token ?? description?.sample.token ?? "https://push.example.com/sample",
            fields: Self.fields(description?.sample, p256dh: p256dh, auth: auth).merging(fields) { $1 },
            registeredAt: .epoch
        )
    }

    var recipient: Trial.Recipient { Trial.Recipient(address: address, sealing: sealing) }

    /// Returns the plaintext of a body encrypted to this device (RFC 8291); `nil` if it was not.
    package func decrypt(_ body: [UInt8]) -> [UInt8]? {
        try? WebPushEncryption.decrypt(body, privateKey: privateKey, authenticationSecret: secret)
    }

    /// The sample fields of the platform with this device's keys.
    private static func fields(_ sample: PlatformSample?, p256dh: String, auth: String) -> [String: String] {
        var fields: [String: String] = [:]
        for field in sample?.fields ?? [] {
            switch field.value {
            case .text(let text): fields[field.name] = text
            case .generated(.p256dh): fields[field.name] = p256dh
            case .generated(.auth): fields[field.name] = auth
            case .generated(let key): fields[field.name] = SampleKeys.make(key)
            }
        }
        return fields
    }
}

/// Finds the ``Mode/sealed`` envelope in a request's body, wherever the platform puts it.
enum SealedBody {
    /// Returns the envelope's content as `device` decrypts it; `nil` if there is no envelope for it.
    static func plaintext(in body: [UInt8], for device: SampleDevice) -> [UInt8]? {
        guard let ciphertext = ciphertext(in: Data(body)), let bytes = Base64.decode(ciphertext),
            let plaintext = device.decrypt(bytes)
        else { return nil }
        let end = plaintext.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? 0
        return Array(plaintext[..<end])
    }

    /// Returns `text` with the ciphertext of its envelope cut short for display.
    static func cutShort(_ text: String) -> String {
        guard let ciphertext = ciphertext(in: Data(text.utf8)) else { return text }
        return text.replacing(ciphertext, with: ciphertext.prefix(24) + "…")
    }

    private static func ciphertext(in data: Data) -> String? {
        (try? JSONSerialization.jsonObject(with: data)).flatMap { ciphertext(in: $0) }
    }

    private static func ciphertext(in json: Any) -> String? {
        if let object = json as? [String: Any] {
            if object["alg"] is String, let ciphertext = object["ct"] as? String { return ciphertext }
            return object.values.lazy.compactMap(ciphertext).first
        }
        // FCM's data has only string values.
        guard let text = json as? String, text.hasPrefix("{") else { return nil }
        return ciphertext(in: Data(text.utf8))
    }
}

/// A sample notification for rehearsing plugins.
struct RehearsalSample: Sendable {
    let name: String
    let about: String
    let notification: Push.Notification

    static let plain = RehearsalSample(name: "alert", about: "everything that there is", notification: full(.alert))

    /// A sample of each mode, a batch, and untrusted content.
    static let all = [
        plain,
        RehearsalSample(
            name: "nudge",
            about: "a neutral text, no sender, no content",
            notification: .nudge(.dm, urgency: .normal, neutral)
        ),
        RehearsalSample(name: "wake", about: "that something happened", notification: .wake(.dm, urgency: .normal)),
        RehearsalSample(name: "sealed", about: "encrypted to the device", notification: full(.sealed)),
        RehearsalSample(name: "batch", about: "12 events as one", notification: batch),
        RehearsalSample(name: "hostile", about: "texts that want to be more than texts", notification: hostile),
        RehearsalSample(name: "long", about: "a text of 20,000 characters", notification: long),
    ]

    private static let neutral = NeutralTexts(title: "New message", body: "Open the app to read it")

    private static func full(_ mode: Mode) -> Push.Notification {
        Push.Notification(
            mode: mode,
            signal: .dm,
            urgency: .high,
            title: "Alice",
            subtitle: "Direct message",
            body: "Hello from Carillon",
            category: "dm",
            thread: "alice",
            collapseKey: "dm-alice",
            url: "nostr:note1rehearsal",
            actions: [NotificationAction(id: "com.example.reply", label: "Reply", url: "app:reply")],
            data: #"{"event_id":"5c83da77af1dec6d7289834998ad7aafbd9e2191396d75ec3cc27f5a77226f36"}"#,
            neutral: neutral
        )
    }

    private static var batch: Push.Notification {
        var notification = full(.alert)
        notification.count = 12
        notification.title = "12 new messages"
        return notification
    }

    private static var hostile: Push.Notification {
        var notification = full(.alert)
        notification.title = "</title><script>alert(\"1\")</script> \u{202e}desrever\u{202c} \\\" ${HOME} %s {{title}}"
        notification.body = "one\r\nX-Injected: two\r\n\r\n\u{0}\u{7}\u{1b}[31m 👩‍👩‍👧‍👦 é ﷽ 'quoted' & <b>bold</b>"
        return notification
    }

    private static var long: Push.Notification {
        var notification = full(.alert)
        notification.body = String(repeating: "All work and no play. ", count: 910)
        return notification
    }
}

// Outcomes, decisions and requests in plain text for plugin authors.

extension Outcome {
    /// A sentence about the notification's result, for plugin authors.
    var sentence: String {
        let word = reason == "\(kind)" || reason.isEmpty ? "" : " (\(reason))"
        let status = status == 0 ? "" : ", status \(status)"
        switch kind {
        case .delivered: return "delivered\(word)\(status)"
        case .gone: return "gone\(word)\(status): the router forgets the device"
        case .rejected: return "rejected\(word)\(status): the router drops the notification"
        case .misconfigured:
            return "misconfigured\(word)\(status): the router pauses the platform and tells its operator"
        case .retry:
            let wait = retryAfter > .zero ? "after \(retryAfter.seconds) s" : "later"
            return "retry\(word)\(status): the router tries again \(wait)"
        }
    }
}

extension FilterDecision {
    var sentence: String {
        switch self {
        case .pass: "pass"
        case .edited: "pass, with other texts"
        case .drop(let reason): "drop" + (reason.isEmpty ? "" : " (\(reason))")
        case .failed(let reason): "failed: \(reason)"
        }
    }
}

extension HTTPRequest {
    /// The whole request with credentials. In a rehearsal these are samples or belong to the plugin's author.
    var wholeTranscript: [String] {
        var lines = ["\(method) \(url)" + (untrustedURL ? "  (untrusted: never into a private network)" : "")]
        lines += headers.map { "\($0.name): \($0.value)" }
        guard !body.isEmpty else { return lines.map(\.printable) }
        let text = String(validating: body, as: UTF8.self) ?? "(\(body.count) bytes that are not text)"
        let isLong = text.count > Self.shownCharacters
        lines +=
            [""]
            + text.prefix(Self.shownCharacters).split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init
            )
        return lines.map(\.printable) + (isLong ? ["… (\(body.count) bytes)"] : [])
    }

    private static var shownCharacters: Int { 1000 }

    /// The request line.
    var rehearsedLine: String { "\(method) \(url)".printable }

    /// The start of the body on one line.
    var shortBody: String {
        guard let text = String(validating: body, as: UTF8.self) else {
            return "(\(body.count) bytes that are not text)"
        }
        return (text.count > 160 ? text.prefix(160) + "…" : text).printable
    }
}

extension String {
    /// The text with control and bidirectional characters shown as numbers, so that it cannot affect the terminal.
    var printable: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control: text += "\\u{\(String(scalar.value, radix: 16))}"
            case .format where scalar.value != 0x200d: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
