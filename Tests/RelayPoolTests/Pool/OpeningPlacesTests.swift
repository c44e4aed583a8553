import Testing

@testable import RelayPool

@Test func placesGoToWhoeverWaitedLongest() throws {
    let relays = try (0..<4).map { try #require(RelayURL("wss://\($0).relay.example")) }
    var places = OpeningPlaces(2)
    #expect(relays.map { places.take($0) } == [true, true, false, false])
    #expect(places.leave() == relays[2])
    #expect(places.leave() == relays[3])
    #expect(places.leave() == nil)
    #expect(places.leave() == nil)
    #expect(relays.prefix(3).map { places.take($0) } == [true, true, false])
}
