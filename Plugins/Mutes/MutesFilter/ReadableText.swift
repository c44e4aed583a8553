import PluginKit

/// A text prepared once for the phrases of many lists: folded, each character as an index into the text's own alphabet.
struct ReadableText: Sendable {
    private(set) var alphabet: [Character] = []
    private(set) var letters: [UInt32] = []
    /// For each character of the alphabet: whether it is part of a word.
    private let isPartOfWord: [Bool]

    init(_ text: String) {
        let characters = FoldedText(text).characters
        var places: [Character: UInt32] = [:]
        letters.reserveCapacity(characters.count)
        for character in characters {
            if let place = places[character] {
                letters.append(place)
                continue
            }
            let place = UInt32(alphabet.count)
            places[character] = place
            alphabet.append(character)
            letters.append(place)
        }
        isPartOfWord = alphabet.map { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    /// Whether a word may begin at a place.
    func isFree(before place: Int) -> Bool { place == 0 || !isPartOfWord[Int(letters[place - 1])] }

    /// Whether a word may end before a place.
    func isFree(behind place: Int) -> Bool { place == letters.count || !isPartOfWord[Int(letters[place])] }
}

/// A text folded for comparison: without case, without invisible characters, and with one blank for each run of white
/// space. Characters compare by canonical equivalence, however they are composed.
struct FoldedText {
    let characters: [Character]

    init(_ text: String) {
        var folded: [Character] = []
        folded.reserveCapacity(text.utf8.count)
        for character in Self.fold(text) {
            guard character.isWhitespace else {
                folded.append(character)
                continue
            }
            if folded.last != " " { folded.append(" ") }
        }
        characters = folded
    }

    /// Without blanks at its ends.
    var trimmed: [Character] {
        let start = characters.drop { $0 == " " }
        return Array(start.last == " " ? start.dropLast() : start)
    }

    private static let joiner: Unicode.Scalar = "\u{200d}"

    /// The standard library has no full case folding. Characters with the same upper case fold to the same character:
    /// `ß` and `SS`, all sigmas, and `ſ` and `s` are equal.
    private static func fold(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                folded.append(Unicode.Scalar(Self.lowercase(UInt8(scalar.value))))
                continue
            }
            // Emoji joined to one, such as a family, stay one character.
            let isJoint = scalar == Self.joiner && folded.last?.properties.isEmoji == true
            guard isJoint || !scalar.properties.isDefaultIgnorableCodePoint else { continue }
            for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                folded.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
            }
        }
        return String(folded)
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

/// The parts of an event that people read: its text and its hashtags, prepared once for many lists.
struct Wording: Sendable {
    static let giftWraps: Set<Int64> = [1059, 21_059]
    /// Kinds whose content is encrypted or not a text.
    private static let withoutText: Set<Int64> = giftWraps.union([3, 4, 13])
    private static let reposts: Set<Int64> = [6, 16, 1809]
    private static let zapReceipt: Int64 = 9735

    let text: ReadableText
    /// Folded, without the sign.
    let hashtags: [String]

    init(of event: NostrEvent) {
        let (text, hashtags) = Self.words(of: event)
        self.text = ReadableText(text)
        self.hashtags = hashtags.map { String(MuteList.hashtag($0)) }
    }

    private static func words(of event: NostrEvent) -> (text: String, hashtags: [String]) {
        let own = event.values(of: "t")
        switch event.kind {
        case let kind where withoutText.contains(kind):
            return ("", own)
        case let kind where reposts.contains(kind):
            // NIP-18: the reposted event as JSON, or nothing.
            let reposted = try? NostrEvent(parsing: event.content)
            return (reposted?.content ?? "", own + (reposted?.values(of: "t") ?? []))
        case zapReceipt:
            // NIP-57: the comment is in the request.
            let request = event.values(of: "description").first.flatMap { try? NostrEvent(parsing: $0) }
            return (request?.content ?? "", own)
        default:
            return (event.content, own)
        }
    }
}
