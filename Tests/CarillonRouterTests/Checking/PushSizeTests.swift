import Core
import HTTPClient
import PlatformTestSupport
import Push
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct PushSizeTests {
    private func size(_ platform: String, _ body: String, _ headers: HTTPFields = []) -> [Int]? {
        let request = HTTPRequest(method: "POST", url: "https://a.example", headers: headers, body: Array(body.utf8))
        return PushSize(request, PlatformCatalog.builtIn[platform]?.limits).map { [$0.count.bytes, $0.limit.bytes] }
    }

    @Test func appleCountsTheBodyAndAllowsCallsMore() {
        #expect(size("ios", "{\"aps\":{}}") == [10, 4096])
        #expect(size("ios", "{}", [HTTPField("apns-push-type", "voip")]) == [2, 5120])
    }

    /// Firebase counts keys and values of `data` and `notification`, without the JSON around them.
    @Test func firebaseCountsKeysAndValues() {
        let message = #"{"message":{"token":"abc","data":{"t":"dm","n":"7"},"notification":{"title":"ä"}}}"#
        #expect(size("android", message) == [1 + 2 + 1 + 1 + 5 + 2, 4096])
        #expect(size("android", "nothing") == nil)
    }

    @Test func ntfyCountsTheMessageAlone() {
        #expect(size("ntfy", #"{"topic":"t","message":"Hello"}"#) == [5, 4096])
    }

    @Test func otherPlatformsHaveNoKnownLimit() {
        #expect(size("pager", "Hello") == nil)
    }
}
