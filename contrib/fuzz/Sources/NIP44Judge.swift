import Cipher
import Nostr

/// Encrypted payloads. The first byte selects the meaning of the rest: a received payload, a text to encrypt, or the
/// replacement of a padded text by an attacker with the key, which passes the MAC.
enum NIP44Judge {
    private static let key = promised("32 bytes are a key") {
        try ConversationKey(bytes: Array(repeating: 7, count: 32))
    }
    private static let nonce = [UInt8](1...32)

    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let way = bytes.first else { return false }
        let rest = Array(bytes.dropFirst())
        switch way % 3 {
        case 0: judgePayload(String(decoding: rest, as: UTF8.self))
        case 1: judgeRoundTrip(rest)
        default: judgeForgedPadding(rest)
        }
        return true
    }

    private static func judgePayload(_ payload: String) {
        guard let plaintext = try? NIP44.decrypt(payload, key: key, limit: 65_536), let bytes = Base64.decode(payload)
        else { return }
        let again = promised("what was decrypted can be encrypted") {
            try NIP44.encrypt(plaintext, key: key, nonce: Array(bytes[1..<33]))
        }
        // NIP-44 does not ask for the padding to be zeros, only for as much of it as the length wants.
        promise(again.utf8.count == payload.utf8.count, "a text of that length has a payload of that length")
        promise(promised("it can be decrypted") { try NIP44.decrypt(again, key: key) } == plaintext, "to the same text")
    }

    private static func judgeRoundTrip(_ text: [UInt8]) {
        guard !text.isEmpty else {
            return promise((try? NIP44.encrypt(text, key: key, nonce: nonce)) == nil, "nothing is not encrypted")
        }
        let payload = promised("a text can be encrypted") { try NIP44.encrypt(text, key: key, nonce: nonce) }
        promise(promised("and decrypted") { try NIP44.decrypt(payload, key: key) } == text, "it comes back as it was")
        promise((try? NIP44.decrypt(payload, key: key, limit: payload.utf8.count - 1)) == nil, "the limit holds")
    }

    private static func judgeForgedPadding(_ padded: [UInt8]) {
        let payload = promised("anything can be encrypted") {
            let keys = try MessageKeys(conversation: key, nonce: nonce)
            let sealed = try ChaCha20.apply(to: padded, key: keys.chachaKey, nonce: keys.chachaNonce)
            let mac = HMACSHA256.authenticationCode(for: nonce + sealed, key: keys.hmacKey)
            return Base64.encode([2] + nonce + sealed + mac)
        }
        judgePayload(payload)
    }
}
