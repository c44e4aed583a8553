import Cipher
import Foundation

/// Finds the envelope of ``Mode/sealed`` in a request's body, wherever a platform has it.
enum SealedBody {
    /// The envelope's content as `device` reads it; nil when there is no envelope to it.
    static func plaintext(in body: [UInt8], for device: SampleDevice) -> [UInt8]? {
        guard let ciphertext = ciphertext(in: Data(body)), let bytes = Base64.decode(ciphertext),
            let plaintext = device.decrypt(bytes)
        else { return nil }
        let end = plaintext.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 } ?? 0
        return Array(plaintext[..<end])
    }

    /// `text`, which holds an envelope, with no more than the beginning of the ciphertext: nobody reads that.
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
        // FCM's data has texts only.
        guard let text = json as? String, text.hasPrefix("{") else { return nil }
        return ciphertext(in: Data(text.utf8))
    }
}
