/// Sanitizes untrusted text: the result cannot end its line or field, reverse the text around it, or hide characters.
enum UntrustedText {
    /// The maximum length in bytes, more than any push service accepts. Longer texts are cut.
    static let limit = 8192

    /// A sanitized text.
    struct Neutral {
        var text: String
        /// Whether the original text was longer.
        var isCut = false
    }

    /// Returns the sanitized `text`. It keeps line breaks and tabs only if `isMultiline`. `collapsesBlanks` turns
    /// several spaces into one, and removes them at the ends.
    static func neutral(_ text: String, isMultiline: Bool, collapsesBlanks: Bool = false) -> Neutral {
        if text.utf8.count <= limit, isHarmless(text, isMultiline, collapsesBlanks) { return Neutral(text: text) }
        var neutralizer = TextNeutralizer(isMultiline: isMultiline, collapsesBlanks: collapsesBlanks)
        var room = limit
        for scalar in text.unicodeScalars {
            room -= UTF8.width(scalar)
            // The cut may be inside a character.
            guard room >= 0 else { return Neutral(text: String(neutralizer.text.dropLast()), isCut: true) }
            neutralizer.take(scalar)
        }
        return Neutral(text: neutralizer.text)
    }

    /// Whether it is plain ASCII that needs no change, like most texts.
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

/// The place of a text, which decides the characters that untrusted text must not contain.
enum TextPlace: Sendable {
    /// Shown in one line: titles, labels, most values of a platform's block.
    case line
    /// Shown with line breaks and tabs: bodies.
    case paragraph
    /// Compared by programs: categories, threads, collapse keys, ids, icons.
    case identifier
    /// Part of a URL: the value cannot end its component.
    case url
    /// A whole URL from an untrusted source: only harmless schemes, and only valid URLs.
    case wholeURL

    var isMultiline: Bool { self == .paragraph }

    var isForPeople: Bool { self == .line || self == .paragraph }

    /// The limit in bytes, more than any identifier that is compared.
    static let identifierLimit = 256

    /// Returns `text`, which is already sanitized, in the form for this place.
    func put(_ text: String) -> String {
        switch self {
        case .line, .paragraph: text
        case .identifier: String(text.beginning(Self.identifierLimit, bytes: Self.identifierLimit))
        case .url: URLText.part(text)
        case .wholeURL: URLText.whole(text)
        }
    }
}

/// Untrusted text in URLs (RFC 3986).
enum URLText {
    /// The limit in bytes, before percent-encoding.
    private static let limit = 1024
    /// The allowed schemes of a URL from an untrusted source. None of them starts a program with its text.
    private static let schemes = ["https", "http", "nostr", "web+nostr", "lightning", "bitcoin"]

    /// Returns `text` with all but unreserved characters percent-encoded, so that keys, ids and words stay unchanged.
    /// Removes a segment that would change the directory.
    static func part(_ text: String) -> String {
        guard text != ".", text != ".." else { return "" }
        return encoded(text.beginning(limit, bytes: limit)) { isUnreserved($0) }
    }

    /// Returns the encoded `text` if it is a URL with an allowed scheme, or else an empty string.
    static func whole(_ text: String) -> String {
        guard text.utf8.count <= limit, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            schemes.contains(text[..<colon].lowercased()), text.utf8.index(after: colon) < text.endIndex
        else { return "" }
        return encoded(text[...]) { isUnreserved($0) || isReserved($0) || $0 == UInt8(ascii: "%") }
    }

    private static func encoded(_ text: Substring, keeping keeps: (UInt8) -> Bool) -> String {
        guard !text.utf8.allSatisfy(keeps) else { return String(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3)
        for byte in text.utf8 {
            if keeps(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    private static func isReserved(_ byte: UInt8) -> Bool {
        ":/?#[]@!$&'()*+,;=".utf8.contains(byte)
    }
}

/// Processes a text scalar by scalar and keeps the harmless ones.
///
/// Invisible scalars are kept only where they have an effect. These are joiners within emoji and scripts that need
/// them, and one variation selector after a character that has variants. The tags of an emoji flag and one direction
/// mark between two characters are kept too.
struct TextNeutralizer {
    /// The maximum number of marks on one character: pointed Hebrew needs five, towers of accents have more.
    static let markLimit = 6
    /// The maximum number of joined emoji.
    static let joinedLimit = 8
    private static let blackFlag: Unicode.Scalar = "\u{1F3F4}"
    private static let cancelTag: Unicode.Scalar = "\u{E007F}"

    private let isMultiline: Bool
    private let collapsesBlanks: Bool
    private var output = String.UnicodeScalarView()
    /// The last scalar that was kept.
    private var last: Unicode.Scalar?
    /// The base of the following marks; nil if there is none.
    private var base: Unicode.Scalar?
    private var marks = 0
    private var joined = 0
    /// A joiner or a direction mark that is kept if the next scalar fits.
    private var pending: Unicode.Scalar?
    /// Whether a space must precede the next scalar.
    private var needsGap = false
    private var tags: [Unicode.Scalar] = []
    private var endsWithCarriageReturn = false

    init(isMultiline: Bool, collapsesBlanks: Bool) {
        self.isMultiline = isMultiline
        self.collapsesBlanks = collapsesBlanks
    }

    /// The text that was kept so far.
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

    /// Handles a flag's tags: a region's name and an end tag (UTS #51). They are kept as a whole or not at all.
    private mutating func take(tag: Unicode.Scalar) {
        guard last == Self.blackFlag, pending == nil, !needsGap else { return }
        guard tag == Self.cancelTag else {
            // One extra tag shows that the name is too long.
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

    /// Whether it belongs to a script in which joiners change the shape or the meaning of words. These are Arabic and
    /// related scripts, the scripts of India and Southeast Asia, and Mongolian.
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

/// The role of a Unicode scalar in a text, as far as it matters for untrusted text in a notification.
enum ScalarRole {
    /// A visible character.
    case base
    /// Shown on or after the previous character: accents, vowel signs, enclosing circles.
    case mark
    case blank
    case tab
    /// A line break for at least one program, including NEL and the rare line and paragraph separators.
    case lineBreak
    case control
    /// Invisible; joins or separates its neighbours.
    case joiner
    /// Invisible; sets the direction of neutral characters around it. Its effect ends on its own.
    case directionMark
    /// Selects another shape of the previous character.
    case variationSelector
    /// Invisible; part of a region's name in an emoji flag.
    case tag
    /// Invisible, reverses the text after it, or is not a character. Always removed.
    case harmful

    init(_ scalar: Unicode.Scalar) {
        self =
            switch scalar.value {
            case 0x21...0x7E: .base
            case 0x20: .blank
            // Not a space, but as empty.
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
