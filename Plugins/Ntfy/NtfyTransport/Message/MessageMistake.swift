/// Why a notification cannot become a message; the raw value labels an outcome.
enum MessageMistake: String, Error {
    /// The rule's block is no JSON object.
    case badNative = "bad-native"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// More than ntfy takes, however short the texts are made.
    case tooLarge = "payload-too-large"
}
