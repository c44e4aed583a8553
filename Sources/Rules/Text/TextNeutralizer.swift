/// Takes a text scalar by scalar and keeps what is harmless of it.
///
/// What is invisible stays only where it does what it is for: joiners within emoji and within the scripts that need
/// them, one variation selector behind what has variants, the tags of an emoji flag, one direction mark between two
/// characters.
struct TextNeutralizer {
    /// The most marks that one character may carry: pointed Hebrew needs five, a tower of accents more.
    static let markLimit = 6
    /// The most emoji that may be joined to one.
    static let joinedLimit = 8
    private static let blackFlag: Unicode.Scalar = "\u{1F3F4}"
    private static let cancelTag: Unicode.Scalar = "\u{E007F}"

    private let isMultiline: Bool
    private let collapsesBlanks: Bool
    private var output = String.UnicodeScalarView()
    /// What was kept last.
    private var last: Unicode.Scalar?
    /// What marks that come now stand upon; nil: nothing.
    private var base: Unicode.Scalar?
    private var marks = 0
    private var joined = 0
    /// A joiner or a direction mark that stays if what comes next is right for it.
    private var pending: Unicode.Scalar?
    /// Whether a space is to stand before what comes next.
    private var needsGap = false
    private var tags: [Unicode.Scalar] = []
    private var endsWithCarriageReturn = false

    init(isMultiline: Bool, collapsesBlanks: Bool) {
        self.isMultiline = isMultiline
        self.collapsesBlanks = collapsesBlanks
    }

    /// What was kept so far.
    var text: String { String(output) }

    mutating func take(_ scalar: Unicode.Scalar) {
        let role = ScalarRole(scalar)
        if role != .tag { tags.removeAll(keepingCapacity: true) }
        switch role {
        case .base: take(base: scalar)
        case .mark: take(mark: scalar)
        case .blank: take(blank: scalar)
        case .tab: isMultiline ? keep(blank: scalar) : leaveGap()
        case .lineBreak: take(lineBreak: scalar)
        case .control: leaveGap()
        case .joiner, .directionMark: if pending == nil, base != nil, !needsGap { pending = scalar }
        case .variationSelector: if pending == nil, !needsGap, hasVariant(scalar) { keep(scalar) }
        case .tag: take(tag: scalar)
        case .harmful: break
        }
        endsWithCarriageReturn = scalar == "\r"
    }

    private mutating func take(base scalar: Unicode.Scalar) {
        if needsGap { keep(blank: " ") }
        settlePending(before: scalar)
        keep(scalar)
        base = scalar
        marks = 0
    }

    private mutating func take(mark: Unicode.Scalar) {
        guard base != nil, !needsGap, marks < Self.markLimit else { return }
        settlePending(before: mark)
        keep(mark)
        marks += 1
    }

    private mutating func take(blank: Unicode.Scalar) {
        collapsesBlanks ? leaveGap() : keep(blank: blank)
    }

    private mutating func take(lineBreak scalar: Unicode.Scalar) {
        guard isMultiline else { return leaveGap() }
        if scalar == "\n", endsWithCarriageReturn { return }
        keep(blank: "\n")
    }

    /// A flag's name is the region's, then the end of it (UTS #51): all of it or nothing.
    private mutating func take(tag: Unicode.Scalar) {
        guard last == Self.blackFlag, pending == nil, !needsGap else { return }
        guard tag == Self.cancelTag else {
            // One too many tells a name that is too long.
            if tags.count <= 6 { tags.append(tag) }
            return
        }
        let isRegion =
            (3...6).contains(tags.count) && tags.allSatisfy(\.isTagOfLetterOrDigit)
            && tags.prefix(2).allSatisfy(\.isTagOfLetter)
        if isRegion {
            for tag in tags { keep(tag) }
            keep(tag)
        }
        tags.removeAll(keepingCapacity: true)
    }

    private mutating func leaveGap() {
        pending = nil
        if base != nil { needsGap = true }
    }

    private mutating func keep(blank: Unicode.Scalar) {
        needsGap = false
        pending = nil
        base = nil
        keep(blank)
    }

    private mutating func keep(_ scalar: Unicode.Scalar) {
        output.append(scalar)
        last = scalar
    }

    private mutating func settlePending(before next: Unicode.Scalar) {
        let isEmoji = last.map { $0.joinsAsEmoji || $0 == "\u{FE0F}" && base?.joinsAsEmoji == true } ?? false
        guard let pending, let last else {
            joined = 0
            return
        }
        self.pending = nil
        switch ScalarRole(pending) {
        case .directionMark: if ScalarRole(next) == .base { keep(pending) }
        case _ where pending == "\u{200D}" && isEmoji && next.joinsAsEmoji && joined < Self.joinedLimit:
            keep(pending)
            joined += 1
            return
        default: if last.isOfJoiningScript, next.isOfJoiningScript { keep(pending) }
        }
        joined = 0
    }

    private func hasVariant(_ selector: Unicode.Scalar) -> Bool {
        guard let last, last == base || ScalarRole(last) == .mark else { return false }
        switch selector.value {
        case 0xFE0E, 0xFE0F: return last.properties.isEmoji
        case 0xFE00...0xFE0D: return last == base && !last.isASCII
        case 0xE0100...0xE01EF: return last.properties.isIdeographic
        default: return (0x1800...0x18AF).contains(last.value)
        }
    }
}

extension Unicode.Scalar {
    fileprivate var joinsAsEmoji: Bool { !isASCII && properties.isEmoji }

    fileprivate var isTagOfLetter: Bool { (0xE0061...0xE007A).contains(value) }

    fileprivate var isTagOfLetterOrDigit: Bool { isTagOfLetter || (0xE0030...0xE0039).contains(value) }

    /// Whether it belongs to a script in which joiners change the shape or the meaning of words: Arabic and its
    /// relatives, the scripts of India and Southeast Asia, Mongolian.
    fileprivate var isOfJoiningScript: Bool {
        switch value {
        case 0x0600...0x109F, 0x1700...0x1CFF, 0xA800...0xAAFF, 0xABC0...0xABFF, 0xFB50...0xFDCF, 0xFE70...0xFEFC,
            0x10A00...0x10FFF, 0x11000...0x11FFF, 0x1E900...0x1EEFF:
            switch ScalarRole(self) {
            case .base, .mark: true
            default: false
            }
        default: false
        }
    }
}

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
