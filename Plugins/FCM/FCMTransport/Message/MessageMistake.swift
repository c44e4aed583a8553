/// Why a notification cannot become a message; the raw value labels an outcome.
enum MessageMistake: String, Error {
    /// `data` is no JSON object.
    case badData = "bad-data"
    /// The platform's block of the rule is no JSON object, or its `notification` is none.
    case badNative = "bad-native"
    /// There is nothing for FCM to show.
    case empty = "payload-empty"
    /// More than 4096 bytes, however short the texts are made.
    case tooLarge = "payload-too-large"
}
