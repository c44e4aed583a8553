import HTTPLanes
import Testing

@testable import RelayPool

private let document = Array(#"{"limitation":{"max_subscriptions":7}}"#.utf8)

@Test func anInformationDocumentIsBelievedForAWhile() {
    var known = KnownLimitation(age: 1_000)
    #expect(known.begin(now: 0) == true)
    #expect(known.limitation == nil)
    #expect(known.begin(now: 1) == false)
    #expect(known.end(.success(HTTPResponse(status: 200, body: document)), now: 10).maxSubscriptions == 7)
    #expect(known.begin(now: 1_009) == false)
    #expect(known.limitation?.maxSubscriptions == 7)
    #expect(known.begin(now: 1_010) == true)
}

@Test(arguments: [
    Result<HTTPResponse, HTTPFailure>.success(HTTPResponse(status: 404, body: document)),
    .failure(HTTPFailure(.timeout, mayHaveBeenProcessed: true)),
])
func aRelayWithoutADocumentHasTheUsualLimitsUntilTheNextConnection(_ answer: Result<HTTPResponse, HTTPFailure>) {
    var known = KnownLimitation(age: 1_000)
    #expect(known.begin(now: 0) == true)
    #expect(known.end(answer, now: 10) == RelayLimitation())
    #expect(known.limitation == RelayLimitation())
    #expect(known.begin(now: 11) == true)
}
