import Core
import Nostr
import Testing

@testable import Relays

private let router = PublicKey.sample(0).hex

private func registration(
    _ number: Int,
    d: String,
    p: String? = nil,
    kind: Kind = .addressablePushRegistration,
    at seconds: Int64 = Exchange.start - 1_000
) -> Event {
    .sample(number, kind, at: seconds, tags: [["d", d]] + (p.map { [["p", $0]] } ?? []))
}

/// Registrations are found however they name the router, and registrations for other routers are ignored.
@Suite struct OwnKeyTests {
    private let plain = registration(1, d: router)
    private let named = registration(2, d: router + ":phone")
    private let tagged = registration(3, d: router + ":tablet", p: router, kind: .pushRegistration)
    private let foreign = registration(4, d: PublicKey.sample(7).hex + ":phone")

    @Test func namedDevicesAreFoundAtTheOperatorsRelaysWithoutAnyTag() {
        var exchange = Exchange()
        exchange.relay.events = [plain, named, tagged, foreign]
        exchange.watchOwnKey()
        exchange.connect()
        exchange.pass(.seconds(20))
        #expect(Set(exchange.handed.map(\.id)) == Set([plain, named, tagged].map(\.id)))
        #expect(!exchange.marks.isEmpty)
        let live = registration(5, d: router + ":watch", at: exchange.seconds)
        exchange.arrive(live)
        exchange.arrive(registration(6, d: PublicKey.sample(7).hex, at: exchange.seconds))
        #expect(exchange.readings(of: live) == [.live])
        #expect(exchange.handed.count { $0.reading == .live } == 1)
    }

    @Test func formerKeyIsRequestedNextToTheCurrentOne() throws {
        let former = PublicKey.sample(8).hex
        var watch = OwnWatch(keys: [.sample(0), .sample(8)])
        watch.begin(at: .operators, now: Timestamp(seconds: Exchange.start))
        let filters = watch.filters(now: Timestamp(seconds: Exchange.start))
        #expect(filters.contains { $0.kinds == [.remoteSigning] && $0.tags["p"] == [router, former] })
        #expect(filters.contains { $0.kinds == FilterPlan.registrations && $0.tags["d"] == [router, former] })
        for (event, isOurs) in [(plain, true), (foreign, false), (registration(5, d: former + ":phone"), true)] {
            var scanner = EventScanner()
            try event.json.withUnsafeBytes { json in
                let scanned = try scanner.scan(json)
                #expect(watch.isOurs(scanned, in: json) == isOurs)
            }
        }
    }

    @Test func registrationDuringDowntimeIsFound() {
        var exchange = Exchange()
        exchange.relay.events = [named, registration(9, d: router + ":old", at: Exchange.start - 90_000)]
        exchange.watchOwnKey()
        exchange.connect(mark: Exchange.start - 1_500)
        exchange.pass(.seconds(20))
        #expect(Set(exchange.handed.map(\.id)) == [named.id])
    }

    @Test func usersRelaysAreAskedByTag() {
        var exchange = Exchange()
        exchange.relay.events = [plain, named, tagged, foreign]
        exchange.watchOwnKey(at: .users)
        exchange.connect()
        exchange.pass(.seconds(20))
        // If no account is watched, no request is sent.
        #expect(exchange.relay.requests.isEmpty)
        exchange.watch([5])
        exchange.pass(.seconds(20))
        #expect(Set(exchange.handed.map(\.id)) == [tagged.id])
        #expect(exchange.relay.requests.flatMap(\.filters).allSatisfy { $0.kinds?.contains(.remoteSigning) != true })
        #expect(exchange.established == [.sample(5)])
        #expect(!exchange.marks.isEmpty)
    }

    @Test(arguments: [2, 3, 4, 5]) func usersPrecedeTheOwnKeyWithFewSubscriptions(_ subscriptions: Int) {
        var exchange = Exchange()
        exchange.relay.maxSubscriptions = subscriptions
        exchange.watchOwnKey(at: .users)
        exchange.watch([5])
        exchange.connect()
        exchange.pass(.seconds(200))
        #expect(exchange.established == [.sample(5)])
        #expect(!exchange.marks.isEmpty)
        let note = Event.sample(50, to: .sample(5), at: exchange.seconds)
        exchange.arrive(note)
        #expect(exchange.readings(of: note) == [.live])
    }

    @Test(arguments: ["blocked: filter too broad", "unsupported: kinds without authors", "error: too many filters"])
    func aRelayThatWillNotBeAskedForKindsAloneIsAskedByTags(words: String) {
        var exchange = Exchange()
        exchange.relay.events = [plain, named, tagged, foreign]
        exchange.relay.refusal = { $0.contains { $0.tags.isEmpty && $0.authors == nil } ? words : nil }
        exchange.watchOwnKey()
        exchange.connect()
        exchange.pass(.minutes(1))
        #expect(Set(exchange.handed.map(\.id)) == [plain.id, tagged.id])
        #expect(!exchange.marks.isEmpty)
        let live = registration(5, d: router, at: exchange.seconds)
        exchange.arrive(live)
        #expect(exchange.readings(of: live) == [.live])
    }

    @Test func singleTagRequestsFindEverything() {
        var exchange = Exchange()
        exchange.relay.events = [plain]
        exchange.relay.refusal = { $0.count > 2 ? "invalid: two filters at most" : nil }
        exchange.watchOwnKey()
        exchange.connect()
        exchange.pass(.minutes(1))
        #expect(Set(exchange.handed.map(\.id)) == [plain.id])
        let request = Event.sample(8, .remoteSigning, to: .sample(0), at: exchange.seconds)
        exchange.arrive(request)
        #expect(exchange.readings(of: request) == [.live])
    }

    @Test func floodOfForeignRegistrationsEndsTheirSubscription() {
        var exchange = Exchange()
        exchange.watchOwnKey()
        exchange.connect()
        exchange.pass(.seconds(20))
        for number in 0..<2_500 {
            exchange.arrive(registration(100 + number, d: "else", kind: .pushRegistration, at: exchange.seconds))
        }
        exchange.pass(.seconds(20))
        #expect(exchange.handed.isEmpty)
        #expect(exchange.complaintsOfRegistrations == 1)
        let broad = exchange.relay.open.values.joined().filter { $0.tags.isEmpty && $0.authors == nil }
        #expect(broad.map(\.kinds) == [[.addressablePushRegistration]])
        // The other kind is not so crowded, and a tag is found in any case.
        let late = [registration(8_000, d: router + ":a"), registration(8_001, d: router, kind: .pushRegistration)]
        for event in late { exchange.arrive(event) }
        #expect(Set(exchange.handed.map(\.id)) == Set(late.map(\.id)))
    }

    @Test func storedRegistrationsReadAreLimited() {
        var exchange = Exchange { $0.registrationPages = 4 }
        exchange.relay.events = (0..<900).map {
            registration(100 + $0, d: "else", kind: .pushRegistration, at: Exchange.start - Int64($0))
        }
        exchange.relay.events += [named, registration(5_000, d: router, kind: .pushRegistration, at: 500)]
        exchange.relay.cap = 100
        exchange.watchOwnKey()
        exchange.connect()
        exchange.pass(.minutes(1))
        #expect(exchange.handed.count >= 2)
        #expect(Set(exchange.handed.map(\.id)).count == 2)
        #expect(exchange.unread == 1)
        #expect(exchange.relay.requests.count < 20)
        #expect(!exchange.marks.isEmpty)
    }
}
