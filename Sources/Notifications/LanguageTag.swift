/// A language as devices and rules name it (BCP 47): a language, perhaps a script, perhaps a region.
package struct LanguageTag: Hashable, Sendable, CustomStringConvertible {
    /// In the usual spelling: `de`, `de-AT`, `zh-Hant-TW`.
    package let description: String

    /// Reads `de`, `de-AT`, `de_at`, `zh-Hant-TW`; what follows the region is left out. Nil for what is no such tag.
    package init?(_ text: some StringProtocol) {
        let parts = String(text).split(omittingEmptySubsequences: false, whereSeparator: { $0 == "-" || $0 == "_" })
            .map(String.init)
        guard let language = parts.first, (2...3).contains(language.utf8.count), language.isLetters else { return nil }
        var tag = language.lowercased()
        var rest = parts.dropFirst()
        if let script = rest.first, script.utf8.count == 4, script.isLetters {
            tag += "-" + script.prefix(1).uppercased() + script.dropFirst().lowercased()
            rest = rest.dropFirst()
        }
        if let region = rest.first, region.isRegion { tag += "-" + region.uppercased() }
        description = tag
    }

    private init(canonical: Substring) {
        description = String(canonical)
    }

    /// This tag, then each that says less, as far as the language alone: `zh-Hant-TW`, `zh-Hant`, `zh`.
    package var fallbacks: [LanguageTag] {
        var tags = [self]
        var rest = description[...]
        while let hyphen = rest.lastIndex(of: "-") {
            rest = rest[..<hyphen]
            tags.append(LanguageTag(canonical: rest))
        }
        return tags
    }
}

extension String {
    fileprivate var isLetters: Bool {
        utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
    }

    /// Two letters of ISO 3166 or three digits of UN M.49.
    fileprivate var isRegion: Bool {
        utf8.count == 2 && isLetters || utf8.count == 3 && utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
