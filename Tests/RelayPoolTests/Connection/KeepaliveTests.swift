import Testing
import TimeTestSupport
import Units

@testable import RelayPool

@Test func aRelayIsGivenUpAfterTwoPingsWithoutAnAnswer() {
    var keepalive = Keepalive(silence: .milliseconds(100), now: 0)
    #expect(keepalive.tick(now: 99, isListening: true) == .nothing)
    #expect(keepalive.tick(now: 100, isListening: true) == .ping)
    #expect(keepalive.tick(now: 200, isListening: true) == .ping)
    #expect(keepalive.tick(now: 300, isListening: true) == .giveUp)
}

@Test func whateverIsHeardKeepsARelayAlive() {
    var keepalive = Keepalive(silence: .milliseconds(100), now: 0)
    #expect(keepalive.tick(now: 100, isListening: true) == .ping)
    #expect(keepalive.tick(now: 200, isListening: true) == .ping)
    keepalive.received(now: 250)
    #expect(keepalive.nextTick == 350)
    #expect(keepalive.tick(now: 300, isListening: true) == .nothing)
    #expect(keepalive.tick(now: 350, isListening: true) == .ping)
    #expect(keepalive.tick(now: 450, isListening: true) == .ping)
}

@Test func silenceWhileWeDoNotListenSaysNothing() {
    var keepalive = Keepalive(silence: .milliseconds(100), now: 0)
    #expect(keepalive.tick(now: 100, isListening: true) == .ping)
    #expect(keepalive.tick(now: 200, isListening: true) == .ping)
    #expect(keepalive.tick(now: 300, isListening: false) == .nothing)
    #expect(keepalive.tick(now: 400, isListening: true) == .ping)
}
