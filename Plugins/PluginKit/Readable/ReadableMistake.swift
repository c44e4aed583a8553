/// Why a notification cannot become a message for a person; the raw value labels an outcome.
public enum ReadableMistake: String, Error {
    /// The rule's block is no JSON object.
    case badNative = "bad-native"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// More than a message may have, however short the texts are made.
    case tooLarge = "payload-too-large"
}
