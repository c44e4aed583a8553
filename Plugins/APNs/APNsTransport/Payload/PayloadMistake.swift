/// Why a notification cannot become a payload; the raw value labels an outcome.
enum PayloadMistake: String, Error {
    /// `data` is no JSON object.
    case badData = "bad-data"
    /// `data` has a member called `aps`, which is Apple's.
    case dataHasAPS = "data-has-aps"
    /// The platform's block of the rule is no JSON object, or asks for what Apple would refuse.
    case badNative = "bad-native"
    /// `sealed` is no JSON object.
    case badSealed = "bad-sealed"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// More than Apple takes, however short the texts are made. The host has a smaller form of the news for this word.
    case tooLarge = "payload-too-large"
}
