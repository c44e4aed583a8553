import Core
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing
import TimeTestSupport

@testable import HTTPClient

struct OriginConnectionsTests {
    private let network = ScriptedNetwork()
    private let answers = Answers()

    private func post(
        _ numbers: ClosedRange<Int>,
        to origin: OriginConnections,
        deadline: Deadline = 3_600_000
    ) throws {
        for number in numbers { #expect(origin.post(try #require(answers.exchange(number, deadline: deadline)))) }
        network.settle()
    }

    @Test func connectionIsOpenedOnTheFirstRequest() throws {
        let origin = try network.origin()
        network.settle()
        #expect(network.attempts == 0)
        try post(1...3, to: origin)
        #expect(network.attempts == 1)
    }

    @Test func aFullConnectionGetsASecondUpToTheLimit() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 2) }
        var settings = ConnectionSettings()
        settings.connectionsPerOrigin = 2
        let origin = try network.origin(settings)
        try post(1...9, to: origin)
        #expect(network.connections.count == 1)
        network.connections[0].peer.answer(1)
        network.settle()
        #expect(network.connections.count == 2)
        #expect(network.connections[1].peer.open.count == 2)
        network.connections[1].peer.answer(1)
        network.settle()
        #expect(network.connections.count == 2)
    }

    @Test func requestsGoToTheConnectionThatHasLeastToDo() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 4) }
        var settings = ConnectionSettings()
        settings.connectionsPerOrigin = 2
        let origin = try network.origin(settings)
        try post(1...6, to: origin)
        let peers = [network.connections[0].peer]
        peers[0].answer(1)
        network.settle()
        #expect(network.connections.map { $0.peer.open.count } == [4, 1])
        network.connections[1].peer.answer(1)
        network.settle()
        try post(7...8, to: origin)
        #expect(network.connections.map { $0.peer.open.count } == [4, 2])
        for stream in network.connections[0].peer.open { network.connections[0].peer.answer(stream) }
        network.settle()
        try post(9...12, to: origin)
        #expect(network.connections.map { $0.peer.open.count } == [3, 3])
    }

    @Test func closingConnectionIsReplacedBeforeARequestWaits() throws {
        let origin = try network.origin()
        try post(1...2, to: origin)
        network.connections[0].peer.answer(1)
        network.settle()
        network.connections[0].peer.goAway(lastStreamID: 3)
        network.settle()
        #expect(network.connections.count == 2)
        #expect(network.connections[0].peer.open == [3])
        try post(3...3, to: origin)
        #expect(network.connections[1].peer.open == [1])
        network.connections[0].peer.answer(3)
        network.connections[1].peer.answer(1)
        network.settle()
        #expect((1...3).map { answers.status($0) } == [200, 200, 200])
    }

    @Test func unneededConnectionIsNotReplaced() throws {
        let origin = try network.origin()
        try post(1...1, to: origin)
        network.connections[0].peer.answer(1)
        network.settle()
        network.pass(.seconds(60))
        network.connections[0].peer.goAway(lastStreamID: 1)
        network.settle()
        #expect(network.connections.count == 1)
        try post(2...2, to: origin)
        #expect(network.connections.count == 2)
    }

    @Test func goAwayResendsUnprocessedStreamsAndLeavesOthersInDoubt() throws {
        let origin = try network.origin()
        try post(1...4, to: origin)
        network.connections[0].peer.goAway(lastStreamID: 3)
        network.settle()
        #expect(network.connections[1].peer.open.count == 2)
        network.connections[0].channel.close(promise: nil)
        network.settle()
        for number in 1...2 { #expect(answers.failure(number) == HTTPError(.closed, mayHaveBeenProcessed: true)) }
        for stream in network.connections[1].peer.open { network.connections[1].peer.answer(stream) }
        network.settle()
        for number in 3...4 { #expect(answers.status(number) == 200) }
    }

    @Test func silentServerDelaysRequestsUntilTheirTimeout() throws {
        network.isMute = true
        let origin = try network.origin()
        try post(1...1, to: origin, deadline: 3_000)
        try post(2...3, to: origin)
        network.pass(.milliseconds(2_999))
        #expect(answers.count == 0)
        network.pass(.milliseconds(1))
        #expect(answers.failure(1) == HTTPError(.timeout, mayHaveBeenProcessed: false))
        network.pass(.seconds(7))
        #expect(answers.failure(2) == HTTPError(.unreachable, mayHaveBeenProcessed: false))
        #expect(answers.failure(3) == HTTPError(.unreachable, mayHaveBeenProcessed: false))
        #expect(!network.connections[0].channel.isActive)
    }

    @Test func silentServerIsDisconnectedAndItsRequestsAreInDoubt() throws {
        network.isWithheld = true
        let origin = try network.origin()
        try post(1...3, to: origin, deadline: 10_000)
        #expect(network.connections[0].peer.open == [1])
        network.pass(.seconds(10))
        #expect(answers.failure(1) == HTTPError(.timeout, mayHaveBeenProcessed: true))
        for number in 2...3 { #expect(answers.failure(number) == HTTPError(.timeout, mayHaveBeenProcessed: false)) }
        network.pass(.seconds(5))
        #expect(!network.connections[0].channel.isActive)
        network.isWithheld = false
        try post(4...4, to: origin)
        network.pass(.seconds(1))
        network.connections[1].peer.answer(1)
        network.settle()
        #expect(answers.status(4) == 200)
    }

    @Test func failedConnectionsAreTriedAgainAfterDoublingTimes() throws {
        network.failure = HTTPError(.unreachable, mayHaveBeenProcessed: false)
        let origin = try network.origin()
        try post(1...2, to: origin)
        #expect(answers.failure(1) == HTTPError(.unreachable, mayHaveBeenProcessed: false))
        #expect(answers.failure(2) == HTTPError(.unreachable, mayHaveBeenProcessed: false))
        var number = 2
        for delay in [1, 2, 4, 8, 16, 32, 60, 60] {
            let attempts = network.attempts
            number += 1
            try post(number...number, to: origin)
            network.pass(.seconds(delay) - .milliseconds(1))
            #expect(network.attempts == attempts)
            #expect(answers[number] == nil)
            network.pass(.milliseconds(1))
            #expect(network.attempts == attempts + 1)
            #expect(answers.failure(number)?.reason == .unreachable)
        }
        number += 1
        network.failure = nil
        try post(number...number, to: origin)
        network.pass(.seconds(60))
        network.connections[0].peer.answer(1)
        network.settle()
        #expect(answers.status(number) == 200)
    }

    @Test func requestThatCannotWaitForTheNextAttemptFailsImmediately() throws {
        network.failure = HTTPError(.tls, mayHaveBeenProcessed: false)
        let origin = try network.origin()
        try post(1...1, to: origin)
        try post(2...2, to: origin, deadline: 900)
        #expect(answers.failure(2) == HTTPError(.tls, mayHaveBeenProcessed: false))
        #expect(network.attempts == 1)
    }

    @Test func serverThatHangsUpIsRetriedWithBackoff() throws {
        let origin = try network.origin()
        try post(1...1, to: origin)
        network.connections[0].channel.close(promise: nil)
        network.settle()
        try post(2...2, to: origin)
        #expect(network.attempts == 1)
        network.pass(.seconds(1))
        #expect(network.attempts == 2)
    }

    @Test func requestsBeyondTheQueueAreRefusedUnprocessed() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 1) }
        var settings = ConnectionSettings()
        settings.waitingPerOrigin = 5
        let origin = try network.origin(settings)
        try post(1...1, to: origin)
        try post(2...8, to: origin)
        #expect(answers.count == 2)
        #expect(answers.failure(7) == HTTPError(.overloaded, mayHaveBeenProcessed: false))
        #expect(answers.failure(8) == HTTPError(.overloaded, mayHaveBeenProcessed: false))
    }

    @Test func waitingForAStreamCountsAgainstTheDeadline() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 1) }
        let origin = try network.origin()
        try post(1...1, to: origin)
        try post(2...2, to: origin, deadline: 50)
        network.pass(.milliseconds(49))
        #expect(answers.count == 0)
        network.pass(.milliseconds(1))
        #expect(answers.failure(2) == HTTPError(.timeout, mayHaveBeenProcessed: false))
    }

    @Test func originWithoutHTTP2IsLeftToLibcurlForAWhile() throws {
        network.negotiated = "http/1.1"
        let origin = try network.origin()
        try post(1...2, to: origin)
        try post(3...3, to: origin)
        #expect(network.handedOver.withLockedValue { $0.count } == 3)
        #expect(network.attempts == 1)
        #expect(answers.count == 0)
        network.negotiated = "h2"
        network.pass(ConnectionSettings().withoutHTTP2)
        try post(4...4, to: origin)
        #expect(network.connections.last?.peer.open == [1])
        for exchange in network.handedOver.withLockedValue({ $0 }) {
            exchange.fail(.shutdown, mayHaveBeenProcessed: false)
        }
    }

    @Test func aShutdownFailsWaitingAndFlyingRequests() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 1) }
        let origin = try network.origin()
        try post(1...2, to: origin)
        let done = origin.shutDown()
        network.settle()
        try done.wait()
        #expect(answers.failure(1) == HTTPError(.shutdown, mayHaveBeenProcessed: true))
        #expect(answers.failure(2) == HTTPError(.shutdown, mayHaveBeenProcessed: false))
        #expect(network.connections[0].peer.saidGoodbye)
        #expect(!network.connections[0].channel.isActive)
        let late = try #require(answers.exchange(3))
        #expect(!origin.post(late))
        late.fail(.shutdown, mayHaveBeenProcessed: false)
    }
}
