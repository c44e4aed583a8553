import Cipher
import Core
package import PluginKit

/// The operator's keys: the current one for new subscriptions, and former ones that subscriptions still use.
package struct VAPIDKeyRing: Sendable {
    /// The names of its settings in a configuration block.
    package static let names: [StaticString] = ["vapid_key_file", "vapid_key", "subject", "old_vapid_key_files"]

    private static let howToMakeAKey = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out vapid.pem"
    private static let formerLimit = 16

    package let subject: VAPIDSubject
    /// The tokens; not empty. The first one is the current key's.
    package let tokens: [VAPIDToken]

    /// Throws for the first error, with its setting and the expected value.
    package init(_ block: JSONObject) throws(PluginError) {
        let current = try Self.currentKey(block)
        let expected = VAPIDSubject.expectation
        subject = try VAPIDSubject(block.requiredText("subject", expected: expected), under: "subject")
        var tokens = [VAPIDToken(key: current, subject: subject.text)]
        for key in try Self.formerKeys(block) {
            let token = VAPIDToken(key: key, subject: subject.text)
            guard !tokens.contains(where: { $0.publicKey == token.publicKey }) else {
                throw PluginError(
                    "old_vapid_key_files: expected former keys, found a duplicate or the current key"
                )
            }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// Returns nil for a block without these settings. Throws for the first error.
    package static func optional(_ block: JSONObject) throws(PluginError) -> VAPIDKeyRing? {
        for name in names {
            if let value = block[name], !value.isNull { return try VAPIDKeyRing(block) }
        }
        return nil
    }

    /// Returns the index of the token whose public key is `text` in base64url; nil for an unknown key.
    package func index(of text: BorrowedText) -> Int? {
        guard text.count <= 128, let point = Base64URL.decode(text.string) ?? Base64.decode(text.string) else {
            return nil
        }
        return tokens.firstIndex { $0.point == point }
    }

    private static func currentKey(_ block: JSONObject) throws(PluginError) -> P256PrivateKey {
        let file = try block.file("vapid_key_file", expected: "the path of a private key in PEM")
        let text = try block.text("vapid_key", expected: "the text of a private key in PEM")
        switch (file, text) {
        case (let file?, nil):
            return try key(file.text(), under: "vapid_key_file")
        case (nil, let text?):
            return try key(text, under: "vapid_key")
        case (nil, nil):
            throw PluginError(
                "vapid_key_file: expected the path of a private key in PEM, or its text under vapid_key; found neither; "
                    + "to make one: \(howToMakeAKey)"
            )
        case (.some, .some):
            throw PluginError("vapid_key: expected either vapid_key_file or vapid_key, found both")
        }
    }

    private static func formerKeys(_ block: JSONObject) throws(PluginError) -> [P256PrivateKey] {
        let expected = "a list of at most \(formerLimit) paths of former private keys in PEM"
        guard let value = block["old_vapid_key_files"], !value.isNull else { return [] }
        guard let elements = value.elements, elements.count <= formerLimit else {
            throw PluginError("old_vapid_key_files: expected \(expected)")
        }
        if let other = elements.first(where: { !$0.isString }) {
            throw PluginError("old_vapid_key_files: expected \(expected), found \(other.kind) in it")
        }
        var keys: [P256PrivateKey] = []
        for file in try block.files("old_vapid_key_files", expected: expected) {
            keys.append(try key(file.text(), under: "old_vapid_key_files"))
        }
        return keys
    }

    private static func key(_ pem: String, under name: StaticString) throws(PluginError) -> P256PrivateKey {
        do {
            return try P256PrivateKey(pem: pem)
        } catch {
            throw PluginError(
                "\(name): expected a PEM text with a private key on P-256: \(error); to make one: \(howToMakeAKey)"
            )
        }
    }
}

/// The key that signs a subscription's messages. The registration's `vapid` is the public key that its app used.
package enum SigningKey: Sendable, Hashable {
    /// The registration names no key.
    case unspecified
    /// The key with this index in the ring.
    case known(Int)
    /// A key that the operator does not have.
    case unknown

    package init(_ registration: borrowing Registration, in ring: VAPIDKeyRing?) {
        guard let field = registration.field("vapid"), !field.isEmpty else {
            self = .unspecified
            return
        }
        self = ring?.index(of: field).map(SigningKey.known) ?? .unknown
    }

    /// Throws for a key that the operator does not have. The error contains the current key; public keys are not
    /// secret.
    package static func validate(_ registration: borrowing Registration, in ring: VAPIDKeyRing?) throws(PluginError) {
        guard case .unknown = SigningKey(registration, in: ring) else { return }
        guard let ring, let current = ring.tokens.first else {
            throw PluginError("vapid: not allowed, because this router has no VAPID key: subscribe without one")
        }
        throw PluginError(
            "vapid: expected the public key of this router, with which the app subscribed: "
                + "\(current.publicKey); found another: subscribe again with that key"
        )
    }
}

/// Identifies the sender to push services (RFC 8292): a JSON Web Token for one origin, signed with the key that the app
/// used.
package struct VAPIDToken: Sendable {
    private static let header = Base64URL.encode([UInt8](#"{"typ":"JWT","alg":"ES256"}"#.utf8))

    private let key: P256PrivateKey
    private let subject: String
    /// The uncompressed point: 65 bytes.
    let point: [UInt8]
    /// The `applicationServerKey` that browsers subscribe with: the uncompressed point in base64url, 87 characters.
    package let publicKey: String

    /// `subject` is a `mailto:` or `https:` URL of the operator.
    init(key: P256PrivateKey, subject: String) {
        self.key = key
        self.subject = subject
        point = key.publicKey.x963Representation
        publicKey = Base64URL.encode(point)
    }

    /// Returns the value of `Authorization` for an origin, valid until `expiry`. Throws only if signing fails.
    func authorization(for origin: String, expiry: Timestamp) throws -> String {
        var claims = JSONWriter(reservingBytes: 192)
        claims.beginObject()
        claims.key("aud")
        claims.string(origin)
        claims.key("exp")
        claims.integer(expiry.seconds)
        claims.key("sub")
        claims.string(subject)
        claims.endObject()
        let signed = "\(Self.header).\(Base64URL.encode(claims.bytes))"
        let signature = Base64URL.encode(try key.signES256([UInt8](signed.utf8)))
        return "vapid t=\(signed).\(signature),k=\(publicKey)"
    }
}

/// Logs problems with signing keys, and Microsoft's explanations of refused messages.
struct KeyReports: Sendable {
    private enum Subject: Hashable {
        case refusedToken(PushService)
        case unprovenKey(PushService)
        case otherKey(PushService)
        case unknownKey
        case refusal(UInt32)
    }

    private let hourly: RateLimitedLog<Subject>
    private let once: RateLimitedLog<Subject>

    init(_ host: Host) {
        hourly = RateLimitedLog(host)
        once = RateLimitedLog(host, quiet: nil)
    }

    /// Logs that a push service refuses the token, whatever the subscription.
    func tokenRefused(by service: PushService, _ reason: String, now: Timestamp) {
        hourly.log(
            .refusedToken(service),
            .warning,
            now: now,
            "\(service.name) refused our VAPID token (\(reason)): check subject, the key and this machine's clock"
        )
    }

    /// Logs that a subscription uses another key. `isKeyProven`: whether any push service accepted a message signed
    /// with ours.
    func keyMismatch(at service: PushService, isKeyProven: Bool, now: Timestamp) {
        if isKeyProven {
            once.log(
                .otherKey(service),
                .warning,
                now: now,
                "\(service.name) reported that a subscription uses another key than ours; if vapid_key_file was "
                    + "replaced, put the former file under old_vapid_key_files"
            )
        } else {
            once.log(
                .unprovenKey(service),
                .error,
                now: now,
                "\(service.name) reported that subscriptions use another key than vapid_key_file, and no message "
                    + "signed with ours was accepted yet: if the file was replaced, put the former one under "
                    + "old_vapid_key_files; if apps use another key, they must subscribe again with ours"
            )
        }
    }

    /// Logs Microsoft's sentence about a status, which is too long for an outcome's reason.
    func refused(_ status: UInt32, _ explanation: String, now: Timestamp) {
        hourly.log(
            .refusal(status),
            .warning,
            now: now,
            "\(PushService.windows.name) did not deliver a message (\(status)): \(explanation)"
        )
    }

    /// Logs that a registration names a key that was configured before.
    func keyUnknown(now: Timestamp) {
        once.log(
            .unknownKey,
            .error,
            now: now,
            "a registration names a VAPID key that is no longer configured, and gets no pushes: put the key's file under "
                + "old_vapid_key_files until its app has subscribed again"
        )
    }
}
