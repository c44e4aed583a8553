import Core
import Testing
import TimeTestSupport

@testable import Listeners

@Suite struct ConnectionSlotsTests {
    private var places: ConnectionSlots<String>

    init() {
        places = ConnectionSlots(counts: ConnectionCounts(limit: 8, limitPerAddress: 3, now: 0))
    }

    private enum Seen: Equatable {
        case admitted(inPlaceOf: String?)
        case refused(limit: Int)
    }

    @discardableResult
    private mutating func admit(
        _ address: String,
        _ name: String = "",
        silentSince: Timestamp = 0,
        isProven: Bool = false,
        now: Timestamp = 0
    ) -> (seen: Seen, number: UInt64) {
        let activity = SocketActivity(now: silentSince)
        if isProven { activity.keepPlace() }
        switch places.admit(ClientAddress(address), name, activity, now: now) {
        case .admitted(let number, let former): return (.admitted(inPlaceOf: former), number)
        case .refused(let limit, _): return (.refused(limit: limit), 0)
        }
    }

    @Test mutating func whoIsIdleForLongestGivesWayWhenThereIsNoPlace() {
        for number in 0..<8 {
            admit("192.0.2.\(number)", "\(number)", silentSince: .epoch + .milliseconds(100 - number))
        }
        #expect(admit("198.51.100.1", now: 10_092).seen == .refused(limit: 8))
        #expect(admit("198.51.100.1", silentSince: 10_093, now: 10_093).seen == .admitted(inPlaceOf: "7"))
        #expect(admit("198.51.100.2", silentSince: 10_100, now: 10_100).seen == .admitted(inPlaceOf: "6"))
    }

    @Test mutating func whoHasProvenAnythingKeepsItsPlace() {
        for number in 0..<8 { admit("192.0.2.\(number)", "\(number)", isProven: number != 5) }
        #expect(admit("198.51.100.1", silentSince: 60_000, now: 60_000).seen == .admitted(inPlaceOf: "5"))
        #expect(admit("198.51.100.2", now: 60_000).seen == .refused(limit: 8))
    }

    @Test mutating func whoSpeaksIsNotIdle() {
        let activity = SocketActivity(now: 0)
        _ = places.admit(ClientAddress("192.0.2.100"), "speaker", activity, now: 0)
        for number in 0..<7 { admit("192.0.2.\(number)", "\(number)", silentSince: 1) }
        activity.noteMessage(at: 30_000)
        #expect(admit("198.51.100.1", silentSince: 30_000, now: 30_000).seen == .admitted(inPlaceOf: "0"))
    }

    @Test mutating func thoseWithTheMostNeighboursGiveWayFirst() {
        admit("192.0.2.1", "alone")
        for number in 0..<7 { admit("2001:\(100 + number % 4):1:\(number)::1", "\(number)", silentSince: 5_000) }
        for _ in 0..<3 {
            guard case .admitted(let former) = admit("198.51.100.1", silentSince: 20_000, now: 20_000).seen else {
                Issue.record("no place was given up")
                return
            }
            #expect(former != nil && former != "alone")
        }
    }

    @Test mutating func aClientWithTooManyIsRefusedAndNobodyGivesWay() {
        for _ in 0..<3 { admit("192.0.2.1", "mine") }
        #expect(admit("192.0.2.1", now: 60_000).seen == .refused(limit: 3))
        #expect(admit("192.0.2.2", now: 60_000).seen == .admitted(inPlaceOf: nil))
    }

    @Test mutating func aClientWithTooManyGivesWayToItselfWhereThatIsWanted() {
        places = ConnectionSlots(
            counts: ConnectionCounts(limit: 8, limitPerAddress: 3, now: 0),
            idleAfter: .zero,
            ownGiveWay: true
        )
        admit("192.0.2.2", "other")
        for number in 0..<3 { admit("192.0.2.1", "\(number)", silentSince: .epoch + .milliseconds(5 - number)) }
        #expect(admit("192.0.2.1", silentSince: 6, now: 6).seen == .admitted(inPlaceOf: "2"))
    }

    @Test mutating func aClientWithTooManyTakesNobodysPlaceEvenWhereThereIsNone() {
        for number in 0..<5 { admit("192.0.2.\(number)", "\(number)") }
        for _ in 0..<3 { admit("198.51.100.1", isProven: true) }
        #expect(admit("198.51.100.1", now: 60_000).seen == .refused(limit: 3))
    }

    @Test mutating func theReserveIsForWhenAllPlacesAreKept() {
        places = ConnectionSlots(
            counts: ConnectionCounts(limit: 2, limitPerAddress: 9, now: 0),
            idleAfter: .zero,
            reserve: 1
        )
        let first = admit("127.0.0.1", isProven: true).number
        #expect(!places.isInReserve)
        admit("127.0.0.1", "idle")
        #expect(!places.isInReserve)
        #expect(admit("127.0.0.1", isProven: true).seen == .admitted(inPlaceOf: "idle") && !places.isInReserve)
        #expect(admit("127.0.0.1", "spare").seen == .admitted(inPlaceOf: nil) && places.isInReserve)
        #expect(admit("127.0.0.1", isProven: true).seen == .admitted(inPlaceOf: "spare") && places.isInReserve)
        #expect(admit("127.0.0.1").seen == .refused(limit: 2))
        places.leave(first)
        // All remaining connections are kept, and one of them uses the reserve.
        #expect(admit("127.0.0.1", "last").seen == .admitted(inPlaceOf: nil) && places.isInReserve)
    }

    @Test mutating func inAFullNetworkANeighbourGivesWayAndNobodyElse() {
        // A network of 48 bits may take a quarter of all places, but at least as many as one client.
        admit("192.0.2.1", "stranger")
        for number in 0..<3 {
            admit("2001:db8:1:\(number)::1", "\(number)", silentSince: .epoch + .milliseconds(number))
        }
        #expect(admit("2001:db8:1:ff::1", now: 1_000).seen == .refused(limit: 3))
        #expect(admit("2001:db8:1:ff::1", silentSince: 60_000, now: 60_000).seen == .admitted(inPlaceOf: "0"))
    }

    @Test mutating func aPlaceIsGivenUpOnce() {
        let numbers = (0..<8).map { admit("192.0.2.\($0)", "\($0)").number }
        #expect(admit("198.51.100.1", silentSince: 60_000, now: 60_000).seen == .admitted(inPlaceOf: "0"))
        // Its connection ends afterwards.
        places.leave(numbers[0])
        #expect(admit("198.51.100.2", silentSince: 60_000, now: 60_000).seen == .admitted(inPlaceOf: "7"))
        places.leave(numbers[1])
        #expect(admit("198.51.100.3", silentSince: 60_000, now: 60_000).seen == .admitted(inPlaceOf: nil))
    }

    @Test mutating func whomAProxyNamesCountsAsHavingComeItself() throws {
        var numbers: [UInt64] = []
        for _ in 0..<4 {
            guard
                case .admitted(let number, inPlaceOf: _) = places.admit(nil, "proxied", SocketActivity(now: 0), now: 0)
            else {
                Issue.record("a proxy was refused")
                return
            }
            numbers.append(number)
        }
        let client = try #require(ClientAddress("203.0.113.7"))
        for number in numbers.prefix(3) {
            guard case .admitted = places.name(number, client, now: 0) else {
                Issue.record("a client was refused that had places left")
                return
            }
        }
        guard case .refused(limit: 3, shouldLog: _) = places.name(numbers[3], client, now: 60_000) else {
            Issue.record("a client took more places than it may")
            return
        }
        places.leave(numbers[0])
        guard case .admitted = places.name(numbers[3], client, now: 60_000) else {
            Issue.record("a place was not given back")
            return
        }
    }
}

@Suite struct ConnectionCountsTests {
    private func counts() -> ConnectionCounts {
        ConnectionCounts(limit: 5, limitPerAddress: 2, now: 0)
    }

    @Test func oneAddressCannotTakeEveryPlace() {
        var counts = counts()
        #expect(counts.admit("192.0.2.1", now: 0) == .admitted)
        #expect(counts.admit("192.0.2.1", now: 0) == .admitted)
        #expect(counts.admit("192.0.2.1", now: 0) == .refused(2))
        #expect(counts.admit("192.0.2.2", now: 0) == .admitted)
        counts.leave("192.0.2.1")
        #expect(counts.admit("192.0.2.1", now: 0) == .admitted)
    }

    @Test func aNetworkOfOneOwnerCountsAsOneAddress() {
        var counts = ConnectionCounts(limit: 20, limitPerAddress: 2, now: 0)
        #expect(counts.admit("2001:db8:1:2::1", now: 0) == .admitted)
        #expect(counts.admit("2001:db8:1:2:ffff::7", now: 0) == .admitted)
        #expect(counts.admit("2001:db8:1:2:3:4:5:6", now: 0) == .refused(2))
        #expect(counts.admit("2001:db8:1:3::1", now: 0) == .admitted)
        counts.leave("2001:db8:1:2::1")
        #expect(counts.admit("2001:db8:1:2:3:4:5:6", now: 0) == .admitted)
    }

    @Test func mappedIPv4AddressesAreToldApart() {
        var counts = ConnectionCounts(limit: 5, limitPerAddress: 1, now: 0)
        #expect(counts.admit("::ffff:192.0.2.1", now: 0) == .admitted)
        #expect(counts.admit("::ffff:192.0.2.2", now: 0) == .admitted)
    }

    @Test(arguments: ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    func proxyOnThisMachineHasAllPlaces(_ address: String) {
        var counts = counts()
        for _ in 0..<5 { #expect(counts.admit(address, now: 0) == .admitted) }
        #expect(counts.admit(address, now: 0) == .refused(5))
    }

    @Test func proxiesThatAreKnownHaveAllPlaces() {
        var counts = counts()
        for _ in 0..<5 { #expect(counts.admit("192.0.2.1", isProxy: true, now: 0) == .admitted) }
        #expect(counts.admit("192.0.2.1", isProxy: true, now: 0) == .refused(5))
    }

    @Test func refusalsDoNotFloodTheLog() {
        var counts = counts()
        for _ in 0..<5 { _ = counts.admit("::1", now: 0) }
        let lines = (0..<1000).count { _ in counts.admit("::1", now: 0) == .refused(5) }
        #expect(lines == 3)
    }

    @Test func manyNetworksOfOneOwnerCannotTakeEveryPlace() {
        var counts = ConnectionCounts(limit: 1_000, limitPerAddress: 100, now: 0)
        func admitted(_ network: (Int) -> String) -> Int {
            (0..<20).reduce(0) { sum, number in
                sum + (0..<100).count { _ in counts.admit(network(number), now: 0) == .admitted }
            }
        }
        #expect(admitted { "2001:db8:1:\($0)::1" } == 250)
        #expect(admitted { "2001:db8:\($0 + 2)::1" } == 250)
        #expect(admitted { "2001:db9:\($0):1::1" } == 500)
        #expect(counts.admit("192.0.2.1", now: 60_000) == .refused(1_000))
    }

    @Test func aNetworkThatLeftHasItsPlacesBack() {
        var counts = ConnectionCounts(limit: 100, limitPerAddress: 10, now: 0)
        for _ in 0..<2 {
            let addresses = (0..<10).map { "2001:db8:1:\($0)::1" }
            let admitted = addresses.filter { address in
                (0..<3).allSatisfy { _ in counts.admit(address, now: 0) == .admitted }
            }
            #expect(admitted.count == 8)
            #expect(counts.crowd(around: ClientAddress("2001:db8:1:77::1")) == 25)
            for address in admitted { for _ in 0..<3 { counts.leave(address) } }
            counts.leave("2001:db8:1:8::1")
            #expect(counts.crowd(around: ClientAddress("2001:db8:1:77::1")) == 0)
        }
    }
}

private enum Decision: Equatable {
    case admitted
    /// The limit that rejects the connection, and whether it is logged.
    case refused(Int, isLogged: Bool = true)
}

extension ConnectionCounts {
    /// Counts a connection from `address`, or rejects it.
    fileprivate mutating func admit(_ address: String, isProxy: Bool = false, now: Timestamp) -> Decision {
        let client = isProxy ? nil : ClientAddress(address)
        if let exhaustedLimit = exhaustedLimit(to: client) {
            let (limit, shouldLog) = refusal(by: exhaustedLimit, now: now)
            return .refused(limit, isLogged: shouldLog)
        }
        add(client)
        return .admitted
    }

    fileprivate mutating func leave(_ address: String) { remove(ClientAddress(address)) }
}
