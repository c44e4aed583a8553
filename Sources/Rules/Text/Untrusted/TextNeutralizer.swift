/// Takes a text scalar by scalar and keeps what is harmless of it.
///
/// What is invisible stays only where it does what it is for: joiners within emoji and within the scripts that need them,
/// one variation selector behind what has variants, the tags of an emoji flag, one direction mark between two characters.
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

    /// Whether it belongs to a script in which joiners change the shape or the meaning of words: Arabic and its relatives, the
    /// scripts of India and Southeast Asia, Mongolian.
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
