/// Looks at what an operator wrote into a text: it stays as it is, so what would break its field is a mistake.
enum LiteralCheck {
    static func check(_ literals: [Substring], _ place: TextPlace) throws(TemplateError) {
        // One without variables is looked at as a whole, by who knows what it must be.
        if place == .url, literals.count > 1, literals.contains(where: { $0.utf8.contains(0x20) }) {
            throw TemplateError("expected a URL without blanks; write %20 for one")
        }
        for scalar in literals.lazy.flatMap(\.unicodeScalars)
        where !scalar.isASCII || !(0x20...0x7E).contains(scalar.value) {
            switch ScalarRole(scalar) {
            case .lineBreak where place.isMultiline && scalar == "\n", .tab where place.isMultiline: break
            case .lineBreak:
                throw TemplateError(
                    "expected one line (a block that begins with | or > ends with a line break; |- and >- do not)"
                )
            case .tab, .control: throw TemplateError("expected no control characters")
            case .base, .mark, .blank, .joiner, .directionMark, .variationSelector, .tag, .harmful: break
            }
        }
    }
}
