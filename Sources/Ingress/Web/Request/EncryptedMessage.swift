import Cipher
import WebPushEncryption

/// What an app needs to decrypt a push message. Nobody here can read it.
struct EncryptedMessage: Equatable {
    enum Coding: String {
        /// draft-ietf-webpush-encryption-04, as Mastodon sends it: salt and key are in the header.
        case aesgcm
        /// RFC 8291: salt and key begin the body.
        case aes128gcm
    }

    /// The bytes of a tag and of the padding's length.
    private static let leastCiphertext: [Coding: Int] = [.aesgcm: 18, .aes128gcm: 17]

    let coding: Coding
    /// 16 bytes.
    let salt: [UInt8]
    /// The sender's key for this message, an uncompressed point of 65 bytes.
    let senderKey: [UInt8]
    /// The whole body.
    let body: [UInt8]

    /// Nil for a message that no app can decrypt: another coding, a missing or invalid salt or key, or a body that is
    /// too short.
    init?(_ request: PushRequest) {
        guard let body = request.body, let coding = Self.coding(request.contentEncoding) else { return nil }
        switch coding {
        case .aesgcm:
            let encryption = FieldParameters(request.encryption).set(with: "salt")
            let cryptoKey = FieldParameters(request.cryptoKey).set(with: "dh", of: encryption)
            guard let salt = encryption?["salt"].flatMap(Self.decode), let key = cryptoKey?["dh"].flatMap(Self.decode)
            else { return nil }
            self.init(coding: coding, salt: salt, senderKey: key, body: body, ciphertextCount: body.count)
        case .aes128gcm:
            guard let header = try? AES128GCMHeader(startOf: body) else { return nil }
            self.init(
                coding: coding,
                salt: header.salt,
                senderKey: header.keyIdentifier,
                body: body,
                ciphertextCount: body.count - header.byteCount
            )
        }
    }

    private init?(coding: Coding, salt: [UInt8], senderKey: [UInt8], body: [UInt8], ciphertextCount: Int) {
        guard salt.count == AES128GCMHeader.saltByteCount, senderKey.count == 65, senderKey.first == 0x04,
            ciphertextCount >= Self.leastCiphertext[coding, default: 0]
        else { return nil }
        self.coding = coding
        self.salt = salt
        self.senderKey = senderKey
        self.body = body
    }

    /// The only coding that `Content-Encoding` names; without such a field the legacy one, as our predecessor ignored
    /// it.
    private static func coding(_ lines: [String]) -> Coding? {
        let codings = lines.flatMap { $0.split(separator: ",") }
            .map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            .filter { !$0.isEmpty && $0 != "identity" }
        guard let first = codings.first else { return .aesgcm }
        return codings.count == 1 ? Coding(rawValue: first) : nil
    }

    /// In either alphabet, padded or not.
    private static func decode(_ text: String) -> [UInt8]? {
        Base64URL.decode(text) ?? Base64.decode(text)
    }
}
