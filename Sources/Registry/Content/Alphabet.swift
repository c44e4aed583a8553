/// The bytes that names of one sort are made of.
enum Alphabet: CustomStringConvertible {
    /// Platforms and signals.
    case lowerCaseName
    /// Apps and device ids.
    case name
    /// Language tags (BCP 47).
    case languageTag
    /// Filters of plugins.
    case filterName

    func spells(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): self == .name || self == .languageTag
            case UInt8(ascii: "."): self == .name || self == .lowerCaseName
            case UInt8(ascii: "_"): true
            default: false
            }
        }
    }

    var description: String {
        switch self {
        case .lowerCaseName: "a-z 0-9 . _ -"
        case .name: "A-Z a-z 0-9 . _ -"
        case .languageTag: "A-Z a-z 0-9 _ -"
        case .filterName: "a-z 0-9 _ -"
        }
    }
}
