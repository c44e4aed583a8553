import Cipher
import Platforms

/// Throw-away keys for dry runs and checks. No push service knows them.
package enum SampleKeys {
    package static func make(_ key: PlatformSample.Key) -> String {
        switch key {
        case .p256PEM: P256PrivateKey().pemRepresentation
        case .rsaPEM: RSAPrivateKey().pemRepresentation
        case .p256dh: Base64URL.encode(P256PrivateKey().publicKey.x963Representation)
        case .auth: Base64URL.encode(SecureRandom.bytes(16))
        }
    }
}

extension PlatformSample {
    /// The registration fields, with fresh throw-away keys where the plugin asks for them.
    package func makeFields() -> [String: String] {
        let fields = fields.map { field in
            switch field.value {
            case .text(let text): (field.name, text)
            case .generated(let key): (field.name, SampleKeys.make(key))
            }
        }
        return Dictionary(fields) { first, _ in first }
    }
}
