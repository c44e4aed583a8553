import Notifications
import Testing

@Suite struct LanguageTagTests {
    @Test(arguments: [
        ("de", "de"), ("DE-at", "de-AT"), ("de_AT", "de-AT"), ("zh-hant-tw", "zh-Hant-TW"), ("es-419", "es-419"),
        ("gsw", "gsw"), ("de-AT-1996", "de-AT"), ("en-x-private", "en"),
    ])
    func isSpelledTheUsualWay(text: String, tag: String) {
        #expect(LanguageTag(text)?.description == tag)
    }

    @Test(arguments: ["", "d", "1a", "german", "-de", "d\u{e9}", "default"])
    func refusesWhatIsNone(text: String) {
        #expect(LanguageTag(text) == nil)
    }

    @Test func fallsBackToWhatSaysLess() {
        #expect(LanguageTag("zh-Hant-TW")?.fallbacks.map(\.description) == ["zh-Hant-TW", "zh-Hant", "zh"])
        #expect(LanguageTag("de")?.fallbacks.map(\.description) == ["de"])
    }
}
