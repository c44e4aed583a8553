import Core
import HTTPClient
import Testing
import TimeTestSupport

@testable import Relays

@Test func smallestKnownLimitApplies() {
    var capacity = RelayCapacity(enough: 500_000)
    #expect(capacity.subscriptions == 20)
    #expect(capacity.bytes == 500_000)
    #expect(capacity.freeBytes == 125_000)
    capacity.says(subscriptions: 50)
    capacity.learn(subscriptions: 30)
    capacity.learn(bytes: 900_000)
    #expect(capacity.subscriptions == 30)
    #expect(capacity.bytes == 500_000)
    capacity.learn(bytes: 200_000)
    capacity.learn(bytes: 300_000)
    capacity.says(subscriptions: 10)
    #expect(capacity.subscriptions == 10)
    #expect(capacity.bytes == 200_000)
    capacity.learn(subscriptions: 0)
    capacity.learn(bytes: 0)
    #expect(capacity.subscriptions == 3)
    #expect(capacity.bytes == 32_768)
}

@Test func guessedLimitsExpireAndStatedOnesDoNot() {
    var capacity = RelayCapacity(enough: 500_000)
    capacity.learn(bytes: 300_000)
    capacity.guess(subscriptions: 7, bytes: 100_000, until: 1_000)
    #expect(capacity.subscriptions == 7)
    #expect(capacity.bytes == 100_000)
    let early = capacity.forget(now: 999)
    #expect(!early)
    let isMore = capacity.forget(now: 1_000)
    #expect(isMore)
    #expect(capacity.forgetAt == nil)
    #expect(capacity.subscriptions == 20)
    #expect(capacity.bytes == 300_000)
}

@Test func onlyConsecutiveRefusalsCount() {
    var row = RejectStreak()
    func refuse(_ number: UInt64, last: UInt64) -> Bool { row.refused(number, last: last) }
    // They were sent at the same time, so they count as one refusal.
    #expect(!refuse(5, last: 9))
    #expect(!refuse(6, last: 9))
    #expect(!refuse(9, last: 9))
    #expect(!refuse(10, last: 10))
    #expect(refuse(11, last: 11))
    row = RejectStreak()
    #expect(!refuse(20, last: 20))
    #expect(!refuse(21, last: 22))
    row.accepted(3)
    row.accepted(22)
    #expect(!refuse(23, last: 23))
    #expect(!refuse(24, last: 24))
    row.accepted(19)
    #expect(refuse(25, last: 25))
}

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
]) func documentWithoutLimitsSetsNone(_ document: String) {
    #expect(limitation(document) == RelayLimitation())
}

@Test func absurdLimitsAreClamped() {
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

@Test func informationDocumentIsCached() {
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
    Result<HTTPResponse, HTTPError>.success(HTTPResponse(status: 404, body: document)),
    .failure(HTTPError(.timeout, mayHaveBeenProcessed: true)),
])
func aRelayWithoutADocumentHasTheUsualLimitsUntilTheNextConnection(_ answer: Result<HTTPResponse, HTTPError>) {
    var known = KnownLimitation(age: .seconds(1))
    #expect(known.begin(now: 0) == true)
    #expect(known.end(answer, now: 10) == RelayLimitation())
    #expect(known.limitation == RelayLimitation())
    #expect(known.begin(now: 11) == true)
}
