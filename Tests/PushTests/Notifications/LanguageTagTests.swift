import Push
import Testing

@Suite struct LanguageTagTests {
    @Test(arguments: [
        ("de", "de"), ("DE-at", "de-AT"), ("de_AT", "de-AT"), ("zh-hant-tw", "zh-Hant-TW"), ("es-419", "es-419"),
        ("gsw", "gsw"), ("de-AT-1996", "de-AT"), ("en-x-private", "en"),
    ])
    func languageTagIsNormalized(text: String, tag: String) {
        #expect(LanguageTag(text)?.description == tag)
    }

    @Test(arguments: ["", "d", "1a", "german", "-de", "d\u{e9}", "default"])
    func invalidLanguageTagIsRefused(text: String) {
        #expect(LanguageTag(text) == nil)
    }

    /// Values from ICU's tables (UTS #35, "Likely Subtags" and "Parent Locales").
    @Test(arguments: [
        "de de-Latn", "de-AT de-Latn-AT de de-Latn", "zh-TW zh-Hant-TW zh-Hant zh", "zh-Hant-TW zh-TW zh-Hant zh",
        "zh-HK zh-Hant-HK zh-Hant zh-TW zh-Hant-TW zh", "zh-CN zh-Hans-CN zh zh-Hans",
        "pt-AO pt-Latn-AO pt-PT pt-Latn-PT pt pt-Latn",
        "nb-NO nb-Latn-NO nb nb-Latn no no-Latn", "xx",
    ])
    func languageFallsBackToARelatedOne(_ chain: String) {
        let tags = chain.split(separator: " ").map(String.init)
        #expect(LanguageTag(tags[0])?.fallbacks.map(\.description) == tags)
    }

    @Test(arguments: [
        "pt-PT: de pt-BR > pt-BR", "pt-PT: pt-BR pt > pt", "pt: pt-PT pt-BR > pt-BR", "pt-PT: pt-MZ pt-AO > pt-AO",
        "zh-TW: zh zh-Hant > zh-Hant", "zh-TW: zh-CN zh-HK > zh-HK", "zh-TW: zh-Hans zh > zh", "zh-TW: zh-CN > none",
        "zh-CN: zh-Hant > none", "es-MX: es-ES es-419 > es-419", "de: de-AT > de-AT", "sr-ME: sr sr-Latn > sr-Latn",
        "nb: no > no", "en: de fr > none", "en: > none",
    ])
    func nearestLanguageIsChosen(_ example: String) throws {
        let words = example.split(separator: " ")
        let tag = try #require(LanguageTag(words[0].dropLast()))
        let available = Set(words.dropFirst().prefix { $0 != ">" }.compactMap { LanguageTag($0) })
        #expect(tag.nearest(among: available)?.description ?? "none" == words.last ?? "")
    }
}
