import Testing
import TimeTestSupport
import Units

@testable import Listening

@Suite struct ConnectionCensusTests {
    private func census() -> ConnectionCensus {
        ConnectionCensus(limit: 5, limitPerAddress: 2, now: 0)
    }

    @Test func oneAddressCannotTakeEveryPlace() {
        var census = census()
        #expect(census.admit("192.0.2.1", now: 0) == .admitted)
        #expect(census.admit("192.0.2.1", now: 0) == .admitted)
        #expect(census.admit("192.0.2.1", now: 0) == .refused(limit: 2, isWorthALine: true))
        #expect(census.admit("192.0.2.2", now: 0) == .admitted)
        census.leave("192.0.2.1")
        #expect(census.admit("192.0.2.1", now: 0) == .admitted)
    }

    @Test func aNetworkOfOneOwnerCountsAsOneAddress() {
        var census = ConnectionCensus(limit: 20, limitPerAddress: 2, now: 0)
        #expect(census.admit("2001:db8:1:2::1", now: 0) == .admitted)
        #expect(census.admit("2001:db8:1:2:ffff::7", now: 0) == .admitted)
        #expect(census.admit("2001:db8:1:2:3:4:5:6", now: 0) == .refused(limit: 2, isWorthALine: true))
        #expect(census.admit("2001:db8:1:3::1", now: 0) == .admitted)
        census.leave("2001:db8:1:2::1")
        #expect(census.admit("2001:db8:1:2:3:4:5:6", now: 0) == .admitted)
    }

    @Test func mappedIPv4AddressesAreToldApart() {
        var census = ConnectionCensus(limit: 5, limitPerAddress: 1, now: 0)
        #expect(census.admit("::ffff:192.0.2.1", now: 0) == .admitted)
        #expect(census.admit("::ffff:192.0.2.2", now: 0) == .admitted)
    }

    @Test(arguments: ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    func proxyOnThisMachineHasAllPlaces(_ address: String) {
        var census = census()
        for _ in 0..<5 { #expect(census.admit(address, now: 0) == .admitted) }
        #expect(census.admit(address, now: 0) == .refused(limit: 5, isWorthALine: true))
    }

    @Test func proxiesThatAreKnownHaveAllPlaces() {
        var census = census()
        for _ in 0..<5 { #expect(census.admit("192.0.2.1", isProxy: true, now: 0) == .admitted) }
        #expect(census.admit("192.0.2.1", isProxy: true, now: 0) == .refused(limit: 5, isWorthALine: true))
    }

    @Test func refusalsDoNotFloodTheLog() {
        var census = census()
        for _ in 0..<5 { _ = census.admit("::1", now: 0) }
        let lines = (0..<1000).count { _ in census.admit("::1", now: 0) == .refused(limit: 5, isWorthALine: true) }
        #expect(lines == 3)
    }

    @Test func manyNetworksOfOneOwnerCannotTakeEveryPlace() {
        var census = ConnectionCensus(limit: 1_000, limitPerAddress: 100, now: 0)
        func admitted(_ network: (Int) -> String) -> Int {
            (0..<20).reduce(0) { sum, number in
                sum + (0..<100).count { _ in census.admit(network(number), now: 0) == .admitted }
            }
        }
        #expect(admitted { "2001:db8:1:\($0)::1" } == 250)
        #expect(admitted { "2001:db8:\($0 + 2)::1" } == 250)
        #expect(admitted { "2001:db9:\($0):1::1" } == 500)
        #expect(census.admit("192.0.2.1", now: 60_000) == .refused(limit: 1_000, isWorthALine: true))
    }

    @Test func aNetworkThatLeftHasItsPlacesBack() {
        var census = ConnectionCensus(limit: 100, limitPerAddress: 10, now: 0)
        for _ in 0..<2 {
            let addresses = (0..<10).map { "2001:db8:1:\($0)::1" }
            let admitted = addresses.filter { address in
                (0..<3).allSatisfy { _ in census.admit(address, now: 0) == .admitted }
            }
            #expect(admitted.count == 8)
            #expect(census.crowd(around: ClientAddress("2001:db8:1:77::1")) == 25)
            for address in admitted { for _ in 0..<3 { census.leave(address) } }
            census.leave("2001:db8:1:8::1")
            #expect(census.crowd(around: ClientAddress("2001:db8:1:77::1")) == 0)
        }
    }
}

extension ConnectionCensus {
    /// Counts a connection from `address`, or refuses it.
    fileprivate mutating func admit(_ address: String, isProxy: Bool = false, now: Timestamp) -> Verdict {
        let client = isProxy ? nil : ClientAddress(address)
        if let obstacle = obstacle(to: client) { return refusal(by: obstacle, now: now) }
        add(client)
        return .admitted
    }

    fileprivate mutating func leave(_ address: String) { remove(ClientAddress(address)) }
}
