/// Why a NIP-44 payload was not made, or not read. Quotes nothing of it.
package enum NIP44Error: Error, Hashable, CustomStringConvertible {
    case unsupportedVersion
    case tooLong(limit: Int)
    case invalidLength
    case notBase64
    case invalidMAC
    case invalidPadding
    case notText
    case invalidNonce
    case invalidPlaintextLength

    package var description: String {
        switch self {
        case .unsupportedVersion:
            "the payload has an unsupported version of NIP-44; expected version 2"
        case .tooLong(let limit):
            "the payload is longer than the \(limit) characters that are read"
        case .invalidLength:
            "the payload is too short for NIP-44; expected at least 132 characters of base64"
        case .notBase64:
            "the payload is not base64 with padding"
        case .invalidMAC:
            "the payload does not authenticate: meant for other keys, or changed on its way"
        case .invalidPadding:
            "the payload's length prefix and padding do not fit together"
        case .notText:
            "the plaintext is not UTF-8"
        case .invalidNonce:
            "a nonce of NIP-44 must be 32 bytes"
        case .invalidPlaintextLength:
            "a plaintext of NIP-44 must be 1 to 4294967295 bytes"
        }
    }
}
