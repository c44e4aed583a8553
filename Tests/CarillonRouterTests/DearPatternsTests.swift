import Testing

@testable import CarillonRouter

struct DearPatternsTests {
    @Test func tellsWhatIsNewAndNothingTwice() {
        var patterns = DearPatterns()
        #expect(patterns.news(in: [:]).isEmpty)
        #expect(patterns.news(in: ["b": 2, "a": 1]).map(\.rule) == ["a", "b"])
        #expect(patterns.news(in: ["b": 2, "a": 1]).isEmpty)
        let news = patterns.news(in: ["b": 5, "a": 1])
        #expect(news.map(\.rule) == ["b"])
        #expect(news.map(\.count) == [3])
    }
}
