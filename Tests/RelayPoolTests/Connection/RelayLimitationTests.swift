import HTTPLanes
import Testing
import TimeTestSupport
import Units

@testable import RelayPool

private func limitation(_ document: String) -> RelayLimitation { RelayLimitation(document: Array(document.utf8)) }

@Test func limitsAreReadFromTheInformationDocument() {
    let limits = limitation(
        #"""
        {"name":"x","limitation":{"max_message_length":70000,"max_subscriptions":12,"max_limit":300,"auth_required":true,
        "max_filters":10,"unknown":{}}}
        """#
    )
    #expect(limits.maxMessageLength == 70_000)
    #expect(limits.maxSubscriptions == 12)
    #expect(limits.maxLimit == 300)
    #expect(limits.isAuthenticationRequired)
}

@Test(arguments: [
    "", "null", "[]", "{", "<html>", #"{"limitation":[]}"#, #"{"limitation":null}"#,
    #"{"limitation":{"max_subscriptions":0,"max_limit":-5,"max_message_length":"many","auth_required":"yes"}}"#,
]) func aDocumentWithoutLimitsTellsNothing(_ document: String) {
    #expect(limitation(document) == RelayLimitation())
}

@Test func absurdLimitsAreReplacedByNearOnes() {
    let small = limitation(#"{"limitation":{"max_subscriptions":1,"max_message_length":10,"max_limit":1e0}}"#)
    #expect(small.maxSubscriptions == 3)
    #expect(small.maxMessageLength == 2_048)
    #expect(small.maxLimit == 1)
    let large = limitation(
        #"{"limitation":{"max_subscriptions":1e300,"max_message_length":99999999999999999999,"max_limit":"5000000"}}"#
    )
    #expect(large.maxSubscriptions == 200)
    #expect(large.maxMessageLength == 1_048_576)
    #expect(large.maxLimit == 10_000)
    #expect(limitation(#"{"limitation":{"max_subscriptions":NaN}}"#) == RelayLimitation())
}

private let document = Array(#"{"limitation":{"max_subscriptions":7}}"#.utf8)

@Test func anInformationDocumentIsBelievedForAWhile() {
    var known = KnownLimitation(age: .seconds(1))
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
    var known = KnownLimitation(age: .seconds(1))
    #expect(known.begin(now: 0) == true)
    #expect(known.end(answer, now: 10) == RelayLimitation())
    #expect(known.limitation == RelayLimitation())
    #expect(known.begin(now: 11) == true)
}
