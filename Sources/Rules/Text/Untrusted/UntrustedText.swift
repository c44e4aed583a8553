/// Text that anybody may have written, made harmless: what is left cannot end its line or its field, turn round what stands
/// around it, or hide anything.
enum UntrustedText {
    /// The most that is looked at, in bytes: more than any push service takes.
    static let limit = 8192

    /// A text made harmless.
    struct Neutral {
        var text: String
        /// Whether there was more of it.
        var isCut = false
    }

    /// `text` with its line breaks and tabs only if it may be in several lines. Where it `collapsesBlanks`, several blanks
    /// become one space, and none stay at the ends.
    static func neutral(_ text: String, isMultiline: Bool, collapsesBlanks: Bool = false) -> Neutral {
        if text.utf8.count <= limit, isHarmless(text, isMultiline, collapsesBlanks) { return Neutral(text: text) }
        var neutralizer = TextNeutralizer(isMultiline: isMultiline, collapsesBlanks: collapsesBlanks)
        var room = limit
        for scalar in text.unicodeScalars {
            room -= UTF8.width(scalar)
            // What was cut may have been in the middle of a character.
            guard room >= 0 else { return Neutral(text: String(neutralizer.text.dropLast()), isCut: true) }
            neutralizer.take(scalar)
        }
        return Neutral(text: neutralizer.text)
    }

    /// Whether it is plain ASCII with nothing in it to change, which most texts are.
    private static func isHarmless(_ text: String, _ isMultiline: Bool, _ collapsesBlanks: Bool) -> Bool {
        var previous: UInt8 = collapsesBlanks ? 0x20 : 0
        for byte in text.utf8 {
            switch byte {
            case 0x20: if collapsesBlanks, previous == 0x20 { return false }
            case 0x21...0x7E: break
            case 0x09, 0x0A: guard isMultiline else { return false }
            default: return false
            }
            previous = byte
        }
        return !collapsesBlanks || previous != 0x20 || text.isEmpty
    }
}
