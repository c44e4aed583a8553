/// Why a notification cannot be sealed. Quotes nothing of it.
package enum SealingError: Error, Hashable, CustomStringConvertible {
    /// What must not be shortened is more than ``SealedContent/byteCount`` bytes.
    case tooLarge
    /// The custom keys are no JSON object.
    case badData

    package var description: String {
        switch self {
        case .tooLarge: "expected a notification of at most \(SealedContent.byteCount) bytes of JSON without its texts"
        case .badData: "expected custom keys that are a JSON object"
        }
    }
}
