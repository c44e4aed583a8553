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

    /// This tag, then what people of this language read instead, the nearest first (Unicode's CLDR): `zh-TW`,
    /// `zh-Hant-TW`, `zh-Hant`, `zh`; `es-MX`, `es-419`, `es`. Other spellings of the same are among them.
    package var fallbacks: [LanguageTag] { LanguageLineage.of(self).fallbacks }

    /// The one of `available` that people of this language read best: this one, the first of ``fallbacks`` in the same
    /// script, the language of another region in the same script (`pt-BR` for `pt-PT`), or in another script. Nil:
    /// none.
    package func nearest(among available: some Collection<LanguageTag>) -> LanguageTag? {
        guard !available.isEmpty else { return nil }
        if available.contains(self) { return self }
        let lineage = LanguageLineage.of(self)
        return lineage.inSameScript.first(where: available.contains)
            ?? lineage.sibling(among: available)
            ?? lineage.inOtherScript.flatMap { available.contains($0) ? $0 : nil }
    }

    /// The language without script and region.
    var language: Substring { description.prefix { $0 != "-" } }
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
