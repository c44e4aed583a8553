import Testing

@testable import RelayPool

@Test func aRelayIsGivenUpAfterTwoPingsWithoutAnAnswer() {
    var heartbeat = Heartbeat(silence: 100, now: 0)
    #expect(heartbeat.tick(now: 99, isListening: true) == .nothing)
    #expect(heartbeat.tick(now: 100, isListening: true) == .ping)
    #expect(heartbeat.tick(now: 200, isListening: true) == .ping)
    #expect(heartbeat.tick(now: 300, isListening: true) == .giveUp)
}

@Test func whateverIsHeardKeepsARelayAlive() {
    var heartbeat = Heartbeat(silence: 100, now: 0)
    #expect(heartbeat.tick(now: 100, isListening: true) == .ping)
    #expect(heartbeat.tick(now: 200, isListening: true) == .ping)
    heartbeat.heard(now: 250)
    #expect(heartbeat.nextTick == 350)
    #expect(heartbeat.tick(now: 300, isListening: true) == .nothing)
    #expect(heartbeat.tick(now: 350, isListening: true) == .ping)
    #expect(heartbeat.tick(now: 450, isListening: true) == .ping)
}

@Test func silenceWhileWeDoNotListenSaysNothing() {
    var heartbeat = Heartbeat(silence: 100, now: 0)
    #expect(heartbeat.tick(now: 100, isListening: true) == .ping)
    #expect(heartbeat.tick(now: 200, isListening: true) == .ping)
    #expect(heartbeat.tick(now: 300, isListening: false) == .nothing)
    #expect(heartbeat.tick(now: 400, isListening: true) == .ping)
}
