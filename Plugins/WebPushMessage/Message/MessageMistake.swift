/// Why a notification cannot become a message; the raw value labels an outcome.
package enum MessageMistake: String, Error {
    /// `data` is no JSON object.
    case badData = "bad-data"
    /// The platform's block of the rule is no JSON object.
    case badNative = "bad-native"
    /// The host's envelope is no JSON object.
    case badEnvelope = "bad-envelope"
    /// More than a push service takes, however short the texts are made.
    case tooLarge = "payload-too-large"
    /// libcrypto refused.
    case notEncrypted = "not-encrypted"
}
