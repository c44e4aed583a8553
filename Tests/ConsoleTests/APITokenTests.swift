import Cipher
import Testing

@testable import Console

@Suite struct APITokenTests {
    private static let text = "0123456789abcdefABCDEF"

    @Test(arguments: ["Bearer \(text)", "bearer \(text)", "BEARER \(text)"])
    func opensWithTheTokenItself(_ field: String) throws {
        #expect(try #require(APIToken(Self.text)).opens([field]))
    }

    @Test(arguments: [
        [], ["\(text)"], ["Bearer"], ["Bearer "], ["Bearer \(text)x"], ["Bearer \(text.dropLast())"],
        ["Basic \(text)"], ["Bearer \(text) "], ["Bearer \(text)", "Bearer \(text)"],
    ])
    func staysShutOtherwise(_ fields: [String]) throws {
        #expect(try !#require(APIToken(Self.text)).opens(fields))
    }

    @Test(arguments: ["", "short", "with a blank in its midst", "ünïcödé-is-no-header-text"])
    func refusesWhatIsNone(_ text: String) {
        #expect(APIToken(text) == nil)
    }

    @Test func makesOnesThatCanBeUsed() {
        let (one, other) = (APIToken.make(random: SecureRandom.bytes), APIToken.make(random: SecureRandom.bytes))
        #expect(one != other && one.utf8.count == 43 && APIToken(one) != nil)
    }

    @Test func keepsItselfOutOfTexts() throws {
        let token = try #require(APIToken(Self.text))
        #expect(!"\(token)".contains(Self.text) && !String(reflecting: token).contains(Self.text))
    }
}
