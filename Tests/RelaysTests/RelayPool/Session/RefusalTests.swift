import Core
import Nostr
import Testing

@testable import Relays

@Test func refusalsAreClassifiedByPrefixAndText() {
    #expect(RejectReason("auth-required: we only serve members") == .authenticate)
    #expect(RejectReason("rate-limited: slow down there chief") == .slower)
    #expect(RejectReason("restricted: not for you") == .never)
    #expect(RejectReason("blocked: you are banned") == .never)
    #expect(RejectReason("unsupported: filter contains unknown elements") == .smaller)
    #expect(RejectReason("invalid: too many values") == .smaller)
    #expect(RejectReason("error: shutting down idle subscription") == .later)
    #expect(RejectReason("error: filter too large") == .smaller)
    #expect(RejectReason("") == .later)
    #expect(RejectReason("error: too many requests") == .slower)
    #expect(RejectReason("ERROR: too many concurrent REQs") == .tooManySubscriptions)
    #expect(RejectReason("rate-limited: too many REQs") == .tooManySubscriptions)
    #expect(RejectReason("error: Maximum concurrent subscription count reached") == .tooManySubscriptions)
    #expect(RejectReason("rate-limited: max subscriptions") == .tooManySubscriptions)
    #expect(RejectReason("invalid: too many filters in REQ") == .smaller)
    #expect(RejectReason("auth-required: max 1 subscription for strangers") == .authenticate)
    #expect(RejectReason("rate-limited: subscription rate limit exceeded") == .slower)
    #expect(RejectReason("rate-limited: 10 subscriptions per minute, max") == .slower)
    #expect(RejectReason("error: bad req: subscription id too long") == .smaller)
    #expect(RejectReason("rate-limited: active subscriptions exceed max size 1048576 bytes") == .tooLargeSubscriptions)
    #expect(RejectReason("error: subscription exceeds max size") == .later)
    #expect(RejectReason(notice: "total size limit of open subscriptions") == .tooLargeSubscriptions)
    #expect(RejectReason(notice: "ERROR: too many concurrent REQs") == .tooManySubscriptions)
    #expect(RejectReason(notice: "rate-limited: slow down") == .slower)
    #expect(RejectReason(notice: "you are rate limited") == .slower)
    #expect(RejectReason(notice: "welcome") == nil)
}

@Test func authenticationRunsOncePerChallengeAndRepeatsTheRequest() {
    var exchange = Exchange()
    exchange.watch([5])
    exchange.connect()
    exchange.hear(.authenticate(challenge: "one"))
    #expect(exchange.challenges == [])
    exchange.pass(.seconds(1))
    exchange.disconnect()

    exchange.relay.refusal = { _ in "auth-required: who are you?" }
    exchange.connect()
    exchange.hear(.authenticate(challenge: "two"))
    exchange.hear(.authenticate(challenge: "two"))
    #expect(exchange.challenges == ["two"])
    #expect(exchange.relay.isAuthenticated)
    exchange.pass(.minutes(2))
    #expect(exchange.challenges == ["two"])
    #expect(exchange.rests.count == 1)
    exchange.relay.refusal = { _ in nil }
    exchange.disconnect()
    exchange.connect()
    exchange.pass(.seconds(20))
    #expect(exchange.established == [.sample(5)])
}

@Test func relayServesAfterAuthentication() {
    var exchange = Exchange()
    exchange.watch([5])
    exchange.connect { $0.isAuthenticationRequired = true }
    exchange.pass(.seconds(1))
    #expect(exchange.relay.requests.isEmpty)
    exchange.hear(.authenticate(challenge: "c"))
    exchange.pass(.seconds(20))
    #expect(exchange.relay.isAuthenticated)
    #expect(exchange.established == [.sample(5)])
}

@Test func requestIsRepeatedEvenIfAuthenticationIsUnanswered() {
    var exchange = Exchange()
    var isFirst = true
    exchange.relay.acceptsAuthentication = nil
    exchange.relay.refusal = { _ in isFirst ? "auth-required: please" : nil }
    exchange.watch([5])
    exchange.connect()
    exchange.hear(.authenticate(challenge: "c"))
    isFirst = false
    exchange.pass(.minutes(1))
    #expect(exchange.challenges == ["c"])
    #expect(exchange.established == [.sample(5)])
}

@Test func restrictedRelayIsPausedForLong() {
    var exchange = Exchange()
    exchange.relay.refusal = { _ in "restricted: members only" }
    exchange.watch(1...10)
    exchange.connect()
    exchange.pass(.minutes(50))
    #expect(exchange.rests.count == 1)
    #expect(exchange.rests.first == Timestamp(seconds: Exchange.start) + .hours(1))
    #expect(exchange.relay.requests.count == 2)
    #expect(exchange.marks.isEmpty)
}

@Test func relayThatWithholdsGiftWrapsServesOtherKinds() {
    var exchange = Exchange()
    exchange.relay.refusal = { filters in
        filters.contains { $0.kinds?.contains(.giftWrap) == true } ? "restricted: wraps go to their receivers" : nil
    }
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.seconds(20))
    let note = Event.sample(1, to: .sample(5), at: exchange.seconds)
    exchange.arrive(note)
    #expect(exchange.readings(of: note) == [.live])
    #expect(exchange.established == [.sample(5)])
    #expect(exchange.rests.isEmpty)
}

@Test func rateLimitedRelayIsAskedSlower() {
    var exchange = Exchange { $0.keysPerFilter = 50 }
    var refusals = 0
    exchange.relay.refusal = { _ in
        refusals += 1
        return refusals <= 6 ? "rate-limited: slow down" : nil
    }
    exchange.watch(1...500)
    exchange.connect()
    exchange.pass(.seconds(2))
    // An initial burst of ten, then half of five per second.
    #expect(exchange.relay.requests.count <= 16)
    exchange.pass(.minutes(10))
    #expect(exchange.established.count == 500)
}

@Test func requestsArePacedAndANoticeHalvesThePace() {
    var exchange = Exchange { $0.keysPerFilter = 50 }
    exchange.watch(1...800)
    exchange.connect()
    exchange.pass(.zero)
    #expect(exchange.relay.requests.count == 10)
    exchange.hear(.notice("rate limit exceeded"))
    exchange.pass(.seconds(10))
    #expect((30...36).contains(exchange.relay.requests.count))
}

@Test func errorIsRetriedWithBackoff() {
    var exchange = Exchange()
    exchange.relay.refusal = { _ in "error: database is busy" }
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.hours(1))
    #expect((8...16).contains(exchange.relay.requests.count))
    #expect(exchange.rests.isEmpty)
    exchange.relay.refusal = { _ in nil }
    exchange.pass(.seconds(700))
    #expect(exchange.established == [.sample(5)])
}

@Test func relayThatNeverEndsStoredEventsIsNotTrusted() {
    var exchange = Exchange()
    exchange.relay.endsStoredEvents = false
    let wrap = Event.sample(1, .giftWrap, to: .sample(5), at: Exchange.start - 60)
    exchange.relay.events = [wrap]
    exchange.watch([5])
    exchange.connect()
    exchange.pass(.hours(1))
    #expect(exchange.handed.isEmpty)
    #expect(exchange.marks.isEmpty)
    #expect(exchange.established.isEmpty)
    #expect((4...16).contains(exchange.relay.requests.count))
    #expect(exchange.relay.peakOpen == 1)
}

@Test func requestsShrinkToTheRelaysLimit() {
    var exchange = Exchange()
    exchange.relay.refusal = { filters in
        filters.contains { ($0.tags["p"]?.count ?? 0) > 130 } ? "invalid: too many values in filter" : nil
    }
    exchange.watch(1...1_000)
    exchange.connect()
    exchange.pass(.minutes(5))
    #expect(exchange.established.count == 1_000)
    #expect(exchange.session.requests.lastNumber < 150)
}

@Test func tooLongRequestIsShortened() {
    var exchange = Exchange()
    exchange.watch(1...1_000)
    exchange.connect()
    let length = exchange.relay.requests.map { $0.filters.first?.tags["p"]?.count ?? 0 }.max() ?? 0
    _ = exchange.session.disconnected(isClean: false, isMessageTooLong: true, now: exchange.now)
    exchange.relay.disconnect()
    let before = exchange.relay.requests.count
    exchange.connect()
    exchange.pass(.minutes(1))
    let shorter = exchange.relay.requests.dropFirst(before).map { $0.filters.first?.tags["p"]?.count ?? 0 }.max() ?? 0
    #expect(shorter <= length / 2)
    #expect(exchange.established.count == 1_000)
}

@Test func aRelayThatAllowsFewerSubscriptionsThanItSaysIsAskedByKind() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    exchange.relay.maxSubscriptions = 6
    exchange.watch(1...1_000)
    exchange.connect()
    exchange.pass(.minutes(5))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 1_000)
    #expect(!exchange.marks.isEmpty)
}

@Test func kindsRefusedByAnOverfullRelayAreReadPeriodically() {
    var exchange = Exchange { $0.keysPerFilter = 50 }
    exchange.relay.refusal = { filters in
        filters.contains { $0.tags.isEmpty && $0.authors == nil } ? "restricted: name somebody" : nil
    }
    exchange.watch(1...1_000)
    exchange.connect()
    exchange.pass(.minutes(5))
    #expect(!exchange.session.live.policy.isAskedByKind)
    #expect(exchange.relay.open.count == 17)
    #expect(exchange.established.count == 1_000)
    let last = Event.sample(1, to: .sample(1_000), at: exchange.seconds)
    exchange.arrive(last)
    #expect(exchange.readings(of: last) == [])
    exchange.pass(.seconds(150))
    #expect(exchange.readings(of: last) == [.stored])
    exchange.watch([2_000])
    exchange.pass(.seconds(10))
    #expect(exchange.established.count == 1_001)
    #expect(exchange.relay.peakOpen <= 20)
    #expect(!exchange.marks.isEmpty)
}

@Test func relaysLimitIsLearnedFromARefusedSubscription() {
    var exchange = Exchange { $0.keysPerFilter = 100 }
    exchange.relay.endsStoredEvents = false
    exchange.watch(1...900)
    exchange.connect()
    let requests = exchange.relay.requests.map(\.id)
    exchange.relay.maxSubscriptions = 7
    for id in requests.dropFirst(7) { exchange.drop(id, "ERROR: too many concurrent REQs") }
    exchange.relay.endsStoredEvents = true
    for id in requests.prefix(7) { exchange.hear(.endOfStoredEvents(id)) }
    #expect(exchange.session.requests.capacity.subscriptions == 7)
    exchange.pass(.seconds(200))
    #expect(exchange.session.live.policy.isAskedByKind)
    #expect(exchange.established.count == 900)
    #expect(exchange.relay.peakOpen <= 9)
}

@Test func relayThatRefusesOurOwnKeyStillServesAccounts() {
    var exchange = Exchange()
    exchange.relay.refusal = { $0.contains { $0.kinds?.contains(.remoteSigning) == true } ? "blocked: kind" : nil }
    exchange.watch([5])
    exchange.watchOwnKey()
    exchange.connect()
    exchange.pass(.minutes(1))
    #expect(exchange.established == [.sample(5)])
    #expect(!exchange.marks.isEmpty)
    #expect(exchange.rests.isEmpty)
}

@Test func aSubscriptionTheRelayClosesIsOpenedAgainAndTheGapRead() throws {
    var exchange = Exchange()
    exchange.watch([5], since: 1_000, isEstablished: true)
    exchange.connect(mark: Exchange.start)
    exchange.pass(.minutes(1))
    let open = try #require(exchange.liveRequests.last)
    exchange.drop(open.id, "error: idle")
    let missed = Event.sample(1, to: .sample(5), at: exchange.seconds + 1)
    exchange.arrive(missed)
    #expect(exchange.readings(of: missed) == [])
    let marks = exchange.marks.count
    exchange.pass(.seconds(5))
    #expect(exchange.marks.count == marks)
    exchange.pass(.minutes(1))
    #expect(exchange.readings(of: missed) == [.stored])
    #expect(exchange.marks.count > marks)
}

@Test func answeredChallengesAreLimited() {
    var exchange = Exchange()
    exchange.watch([5])
    exchange.connect { $0.isAuthenticationRequired = true }
    for number in 0..<1_000 { exchange.hear(.authenticate(challenge: "\(number)")) }
    #expect(exchange.challenges.count <= 20)
}
