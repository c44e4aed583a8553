/// A text as people compare it: without case, without what cannot be seen, and with one blank for all white space in a row.
/// Characters compare by canonical equivalence, however they are composed.
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

    /// Full case folding is not at hand; what has one upper case has one fold. That makes `ß` and `SS`, all sigmas, and `ſ` and
    /// `s` the same.
    private static func fold(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                folded.append(Unicode.Scalar(Self.lowercase(UInt8(scalar.value))))
                continue
            }
            // A family is one sign, and not its members.
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
