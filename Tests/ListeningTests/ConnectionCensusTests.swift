import Testing

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
        var census = census()
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
}
