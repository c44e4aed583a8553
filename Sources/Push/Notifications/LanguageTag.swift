import Foundation
import Synchronization

/// A language as devices and rules name it (BCP 47): a language, perhaps a script, perhaps a region.
package struct LanguageTag: Hashable, Sendable, CustomStringConvertible {
    /// In the usual spelling: `de`, `de-AT`, `zh-Hant-TW`.
    package let description: String

    /// Reads `de`, `de-AT`, `de_at`, `zh-Hant-TW`; leaves out what follows the region. Nil if it is not a language tag.
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
    /// `zh-Hant-TW`, `zh-Hant`, `zh`; `es-MX`, `es-419`, `es`. Includes other spellings of the same tag.
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

/// What Unicode's CLDR (in ICU's tables) says about a language: its script, and its readers' fallbacks.
struct LanguageLineage: Sendable {
    /// A cache: a lookup costs as much as a signature check. It is small, since registrations may name any language.
    private static let memo = Mutex<[LanguageTag: LanguageLineage]>([:])
    private static let memoLimit = 512
    /// CLDR knows no longer chain.
    private static let parentLimit = 6

    /// The language itself and its fallbacks in the same script, the nearest first.
    let inSameScript: [LanguageTag]
    /// The bare language, where its usual script is another one: `zh` for `zh-TW`.
    let inOtherScript: LanguageTag?
    /// The language itself, by ISO 639.
    private let language: Substring
    /// By ISO 15924; empty if unknown.
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

    /// The language of another region in the same script: of the region that most of its speakers live in, else of the
    /// first by name.
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

    /// With and without the script; without it only where it is the usual one.
    private static func spellings(_ language: String, _ script: String, _ region: String?) -> [String] {
        let short = language + (region.map { "-\($0)" } ?? "")
        let isUsual = Locale.Language(identifier: short).script?.identifier ?? "" == script
        let long = script.isEmpty ? [] : ["\(language)-\(script)" + (region.map { "-\($0)" } ?? "")]
        return (isUsual ? [short] : []) + long
    }
}
