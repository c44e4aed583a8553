/// Why a notification cannot become a payload; the raw value labels an outcome.
enum PayloadMistake: String, Error {
    /// `data` is no JSON object.
    case badData = "bad-data"
    /// `data` has a member called `aps`, which is Apple's.
    case dataHasAPS = "data-has-aps"
    /// The platform's block of the rule is no JSON object.
    case badNative = "bad-native"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// More than 4096 bytes, however short the texts are made.
    case tooLarge = "payload-too-large"
}
