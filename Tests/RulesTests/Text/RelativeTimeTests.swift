import Notifications
import PlatformTestSupport
import Testing
import TimeTestSupport

@testable import Rules

@Suite struct RelativeTimeTests {
    @Test(
        arguments: [
            (-100, "now", "just now"), (0, "now", "just now"), (59, "now", "just now"), (60, "1m", "1 minute ago"),
            (300, "5m", "5 minutes ago"), (3599, "59m", "59 minutes ago"), (3600, "1h", "1 hour ago"),
            (86_399, "23h", "23 hours ago"), (86_400, "1d", "1 day ago"), (6 * 86_400, "6d", "6 days ago"),
            (7 * 86_400, "1w", "1 week ago"), (30 * 86_400, "1mo", "1 month ago"),
            (364 * 86_400, "12mo", "12 months ago"),
            (365 * 86_400, "1y", "1 year ago"), (Int64.max, "292471208677y", "292471208677 years ago"),
        ] as [(Int64, String, String)]
    )
    func tellsTheLargestUnit(_ seconds: Int64, _ short: String, _ words: String) {
        #expect(RelativeTime.short(seconds: seconds) == short)
        #expect(RelativeTime.words(seconds: seconds, in: nil) == words)
    }

    @Test(arguments: [
        ("de-AT", "vor 5 Minuten"), ("es", "hace 5 minutos"), ("fr-CA", "il y a 5 minutes"), ("it", "5 minuti fa"),
        ("ja", "5分前"), ("nl", "5 minuten geleden"), ("pt-BR", "há 5 minutos"), ("en-GB", "5 minutes ago"), ("fi", "5m"),
    ])
    func speaksTheTextsLanguageOrNone(_ tag: String, _ words: String) {
        #expect(RelativeTime.words(seconds: 300, in: LanguageTag(tag)) == words)
    }

    @Test func everyLanguageHasAllUnits() {
        for words in RelativeTimeWords.byLanguage.values { #expect(words.units.count == 6) }
        #expect(RelativeTime.words(seconds: 86_400, in: LanguageTag("de")) == "vor 1 Tag")
    }

    @Test func countsFromTheMomentOfRendering() throws {
        let input = Fixture.input(kind: 1)
        let book = try RuleBook(
            yaml: """
                version: 1
                rules:
                  - match: { kinds: 1 }
                    title: { default: "{{ago(event.created_at)}}", de: "{{ago(event.created_at)}}", fi: "{{since(event.created_at)}}" }
                """,
            name: "rules.yaml"
        )
        let rule = try #require(book.rules.first)
        func title(_ language: String?) -> String {
            let language = language.flatMap { LanguageTag($0) }
            return rule.render(input, signal: .mention, mode: .alert, language: language, now: 1_708_007_200_999).title
        }
        #expect(title(nil) == "2 hours ago")
        #expect(title("de-CH") == "vor 2 Stunden")
        #expect(title("fi") == "2h")
        // A text in the default's language speaks of time in that language, whatever the device's is.
        #expect(title("es") == "2 hours ago")
    }
}
