import Cipher
import Testing

@testable import Console

@Suite struct APITokenTests {
    private static let text = "0123456789abcdefABCDEF"

    @Test func onlyTheExactTokenMatches() throws {
        let token = try #require(APIToken(Self.text))
        #expect(token.opens(Self.text))
        for other in ["", "\(Self.text)x", String(Self.text.dropLast()), "\(Self.text) ", Self.text.lowercased()] {
            #expect(!token.opens(other), "\(other)")
        }
    }

    @Test(arguments: ["Bearer \(text)", "bearer \(text)", "BEARER \(text)"])
    func credentialsFollowTheirScheme(_ field: String) {
        #expect(head([field]).credentials("bearer") == Self.text)
    }

    @Test(arguments: [
        [], ["\(text)"], ["Bearer"], ["Bearer "], ["Basic \(text)"], ["Bearer \(text)", "Bearer \(text)"],
    ])
    func otherHeadersHoldNoCredentials(_ fields: [String]) {
        #expect(head(fields).credentials("bearer") == nil)
    }

    private func head(_ fields: [String]) -> APIRequestHead {
        APIRequestHead(method: "GET", target: "/", authorization: fields, peer: "")
    }

    @Test(arguments: ["", "short", "with a blank in its midst", "ünïcödé-is-no-header-text"])
    func invalidTokenIsRefused(_ text: String) {
        #expect(APIToken(text) == nil)
    }

    @Test func generatedTokensAreValid() {
        let (one, other) = (APIToken.make(random: SecureRandom.bytes), APIToken.make(random: SecureRandom.bytes))
        #expect(one != other && one.utf8.count == 43 && APIToken(one) != nil)
    }

    @Test func tokenIsHiddenInDescriptions() throws {
        let token = try #require(APIToken(Self.text))
        #expect(!"\(token)".contains(Self.text) && !String(reflecting: token).contains(Self.text))
    }
}
