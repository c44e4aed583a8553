import Foundation
import Synchronization

/// What Unicode's CLDR says of a language, in ICU's tables: in which script it is written, and what its readers read
/// instead.
struct LanguageLineage: Sendable {
    /// Kept, since the tables take as long as a signature check. Registrations may name any language, so few are.
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
    /// By ISO 15924; empty where nobody knows.
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
