/// What a Unicode scalar does in a text, as far as it matters for what strangers may put into a notification.
enum ScalarRole {
    /// Shows something of its own.
    case base
    /// Shown on or behind the one before: accents, vowel signs, enclosing circles.
    case mark
    case blank
    case tab
    /// Ends a line for somebody: also NEL and the separators that hardly anybody knows.
    case lineBreak
    case control
    /// Joins what stands on both sides, or keeps it apart; invisible itself.
    case joiner
    /// Says in which direction what has none of its own runs; invisible, and ends by itself.
    case directionMark
    /// Picks another shape of the one before.
    case variationSelector
    /// Spells the name of a region in an emoji flag; invisible.
    case tag
    /// Invisible, or turns round what follows, or no character at all: of no use here.
    case harmful

    init(_ scalar: Unicode.Scalar) {
        self =
            switch scalar.value {
            case 0x21...0x7E: .base
            case 0x20: .blank
            // No space, but as empty.
            case 0x2800: .blank
            case 0x09: .tab
            case 0x0A...0x0D, 0x85, 0x2028, 0x2029: .lineBreak
            case 0x00...0x1F, 0x7F...0x9F: .control
            case 0xA1...0xAC, 0xAE...0x2FF, 0x370...0x482, 0x48A...0x590: .base
            case 0x2010...0x2027, 0x2070...0x20CF, 0x2100...0x27FF: .base
            case 0x3041...0x3096, 0x30A0...0x30FF, 0x3400...0x9FFF, 0xAC00...0xD7A3, 0x1F300...0x1FAFF: .base
            case 0x200C, 0x200D, 0x180E: .joiner
            case 0x061C, 0x200E, 0x200F: .directionMark
            case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: .variationSelector
            case 0xE0020...0xE007F: .tag
            case 0x034F, 0x202A...0x202E, 0x2060...0x206F, 0xFFF0...0xFFFC: .harmful
            default: ScalarRole(rare: scalar)
            }
    }

    private init(rare scalar: Unicode.Scalar) {
        let properties = scalar.properties
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark:
            self = properties.isDefaultIgnorableCodePoint ? .harmful : .mark
        case .spaceSeparator: self = .blank
        case _ where properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint: self = .harmful
        default: self = properties.isGraphemeExtend ? .mark : .base
        }
    }
}
