import Testing

@testable import RelayPool

struct OpeningPlacesTests {
    private let relays = (0..<5).compactMap { RelayURL("wss://\($0).relay.example") }

    @Test func placesGoToWhoeverWaitedLongest() {
        var places = OpeningPlaces(2)
        #expect(relays.prefix(4).map { places.take($0) } == [true, true, false, false])
        #expect(places.leave(relays[0]) == relays[2])
        #expect(places.leave(relays[1]) == relays[3])
        #expect(places.leave(relays[2]) == nil)
        #expect(places.leave(relays[3]) == nil)
        #expect(relays.prefix(3).map { places.take($0) } == [true, true, false])
    }

    @Test func whoAsksAgainWaitsOnce() {
        var places = OpeningPlaces(2)
        #expect(relays.prefix(2).map { places.take($0) } == [true, true])
        for _ in 0..<3 { #expect(places.take(relays[2]) == false) }
        #expect(places.take(relays[3]) == false)
        #expect(places.leave(relays[0]) == relays[2])
        #expect(places.leave(relays[1]) == relays[3])
    }

    @Test func nobodyHasTwoPlacesOrGivesBackWhatIsAnothers() {
        var places = OpeningPlaces(2)
        #expect(relays.prefix(3).map { places.take($0) } == [true, true, false])
        #expect(places.take(relays[0]) == true)
        #expect(places.leave(relays[4]) == nil)
        #expect(places.leave(relays[0]) == relays[2])
        #expect(places.leave(relays[0]) == nil)
        #expect(places.take(relays[3]) == false)
    }
}
