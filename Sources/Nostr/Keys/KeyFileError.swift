/// Why a text is not the content of a key file. Quotes nothing of it.
package enum KeyFileError: Error, Hashable, CustomStringConvertible {
    case empty
    case severalWords
    case publicKey
    case notAKey
    case outOfRange

    package var description: String {
        switch self {
        case .empty:
            "the key file is empty; expected 64 hexadecimal digits or an nsec on one line"
        case .severalWords:
            "the key file holds more than one word; expected 64 hexadecimal digits or an nsec on one line"
        case .publicKey:
            "the key file holds a public key (npub); expected the secret one, an nsec or 64 hexadecimal digits"
        case .notAKey:
            "the key file holds no secret key; expected 64 hexadecimal digits or an nsec (check it for typing mistakes)"
        case .outOfRange:
            "the key file holds a number that is no secret key on secp256k1; create another one"
        }
    }
}
