import Foundation
import Synchronization

/// A language tag of devices and rules (BCP 47): a language, an optional script and an optional region.
package struct LanguageTag: Hashable, Sendable, CustomStringConvertible {
    /// In the usual spelling: `de`, `de-AT`, `zh-Hant-TW`.
    package let description: String

    /// Parses `de`, `de-AT`, `de_at`, `zh-Hant-TW`; ignores the rest after the region. Nil for other texts.
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

    /// This tag, then the alternatives for its readers, the nearest first (Unicode's CLDR). For example `zh-TW`,
    /// `zh-Hant-TW`, `zh-Hant`, `zh`; `es-MX`, `es-419`, `es`. Includes other spellings of the same tag.
    package var fallbacks: [LanguageTag] { LanguageLineage.of(self).fallbacks }

    /// Returns the best tag in `available` for readers of this language. In this order: this tag, the first of
    /// ``fallbacks`` in the same script, the language of another region in the same script (`pt-BR` for `pt-PT`), the
    /// language in another script. Nil if there is none.
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

/// The script of a language and its readers' fallbacks, according to Unicode's CLDR (in ICU's tables).
struct LanguageLineage: Sendable {
    /// A cache, because a lookup costs as much as a signature check. It is small, because registrations may contain any
    /// language.
    private static let memo = Mutex<[LanguageTag: LanguageLineage]>([:])
    private static let memoLimit = 512
    /// CLDR has no longer chain.
    private static let parentLimit = 6

    /// The language itself and its fallbacks in the same script, the nearest first.
    let inSameScript: [LanguageTag]
    /// The bare language if its usual script differs: `zh` for `zh-TW`.
    let inOtherScript: LanguageTag?
    /// The ISO 639 code of the language itself.
    private let language: Substring
    /// The ISO 15924 code; empty if unknown.
    private let script: String

    var fallbacks: [LanguageTag] { inSameScript + (inOtherScript.map { [$0] } ?? []) }

    static func of(_ tag: LanguageTag) -> LanguageLineage {
        if let known = memo.withLock({ $0[tag] }) { return known }
        let lineage = LanguageLineage(tag)
        memo.withLock { memo in
            if memo.count >= memoLimit { memo = [:] }
            memo[tag] = lineage
        }
        return lineage
    }

    /// Returns the language of another region in the same script: of the region with most of its speakers, or else of
    /// the first region by name.
    func sibling(among available: some Collection<LanguageTag>) -> LanguageTag? {
        let siblings = available.filter { $0.language == language && Self.of($0).script == script }
        guard siblings.count > 1 else { return siblings.first }
        let likely = Locale.Language(identifier: "\(language)-\(script)").maximalIdentifier.split(separator: "-").last
        return siblings.first { $0.description.split(separator: "-").last == likely }
            ?? siblings.min { $0.description < $1.description }
    }

    private init(_ tag: LanguageTag) {
        let own = Locale.Language(identifier: tag.description)
        let script = own.script?.identifier ?? ""
        let language = String(tag.language)
        var chain = [tag.description] + Self.spellings(language, script, own.region?.identifier)
        var parent = own.parent
        for _ in 0..<Self.parentLimit {
            guard let next = parent, let name = next.languageCode?.identifier else { break }
            if next.script?.identifier == script { chain += Self.spellings(name, script, next.region?.identifier) }
            parent = next.parent
        }
        chain += Self.spellings(language, script, nil)
        var known: Set<LanguageTag> = []
        inSameScript = chain.compactMap { LanguageTag($0) }.filter { known.insert($0).inserted }
        inOtherScript = LanguageTag(language).flatMap { known.contains($0) ? nil : $0 }
        self.language = tag.language
        self.script = script
    }

    /// Returns spellings with and without the script. Omits the script only if it is the language's usual one.
    private static func spellings(_ language: String, _ script: String, _ region: String?) -> [String] {
        let short = language + (region.map { "-\($0)" } ?? "")
        let isUsual = Locale.Language(identifier: short).script?.identifier ?? "" == script
        let long = script.isEmpty ? [] : ["\(language)-\(script)" + (region.map { "-\($0)" } ?? "")]
        return (isUsual ? [short] : []) + long
    }
}
