import Logging
import Nostr
import Testing
import TimeTestSupport
import Units

@testable import RelayPool

struct RelayConductTests {
    private let start = Timestamp(seconds: 1_773_446_400)

    @Test func anAccidentIsNoMisbehaviour() {
        var conduct = RelayConduct()
        let lines = (1..<RelayOffence.malformed.tolerance).count { _ in conduct.note(.malformed, 1, now: start) }
        #expect(lines == 0 && conduct.misbehaviour(at: start).isEmpty)
        let isToldAtLast = conduct.note(.malformed, 1, now: start)
        #expect(isToldAtLast)
        #expect(conduct.misbehaviour(at: start) == [.malformed])
    }

    @Test func anOperatorIsToldOnceAnHour() {
        var conduct = RelayConduct()
        let lines = (0..<120).count { conduct.note(.flood, 1, now: start + .minutes(Int64($0))) }
        #expect(lines == 2)
        #expect(conduct.offences[.flood] == 120)
    }

    @Test func misbehaviourIsForgottenWithTheHour() {
        var conduct = RelayConduct()
        _ = conduct.note(.flood, 1, now: start)
        #expect(conduct.misbehaviour(at: start + .minutes(59)) == [.flood])
        #expect(conduct.misbehaviour(at: start + .minutes(60)).isEmpty)
        // A clock that was set back does not silence anybody.
        let isToldAgain = conduct.note(.flood, 1, now: start - .hours(5))
        #expect(isToldAgain)
    }

    @Test func wordsAreCutAndCleaned() {
        let words = RelayWords("NOTICE", "a\u{1B}[31m\u{202E}b\n" + String(repeating: "x", count: 500), at: start)
        #expect(words.text.hasPrefix("a [31m b xxx") && words.text.hasSuffix("…"))
        #expect(words.text.unicodeScalars.count == 201)
    }

    @Test func theLastWordsAreKeptEachOnce() {
        var conduct = RelayConduct()
        for text in ["one", "two", "one", "three", "four", "four"] {
            conduct.said(RelayWords("CLOSED", text, at: start), isRefusal: true)
        }
        #expect(conduct.lastWords.map(\.text) == ["one", "three", "four"] && conduct.refusals == 6)
    }

    @Test func onlyTheOperatorsRelaysAreNamed() throws {
        let log = LinesOfLog()
        let own = try #require(RelayURL("wss://own.example"))
        let book = RelayConductBook(operators: [own], now: { [start] in start }, logger: log.logger)
        for number in 0..<100 {
            book.note(.flood, by: try #require(RelayURL("wss://r\(number).example")))
        }
        book.note(.flood, 2, by: own)
        let lines = log.lines
        #expect(lines.count == 31 && lines.count { $0.contains("wss://own.example") } == 1)
        #expect(!lines.contains { $0.contains("wss://r") })
        #expect(lines.allSatisfy { $0.contains("carillon relays list --misbehaving") })
        #expect(book.misbehaving.count == 101)
        #expect(book.offences[own] == [.flood: 2] && book.offences[nil] == [.flood: 100])
    }
}

/// What a session sees of a relay's conduct.
struct SessionConductTests {
    @Test func aRelayThatNeverEndsStoredEventsIsNoticed() {
        var exchange = Exchange()
        exchange.relay.endsStoredEvents = false
        exchange.watch(1...3)
        exchange.connect()
        exchange.pass(.seconds(29))
        #expect(exchange.session.requestsUnanswered == 0)
        exchange.pass(.minutes(10))
        #expect(exchange.session.requestsUnanswered >= Int(RelayOffence.unanswered.tolerance))
    }

    @Test func aRelayThatAnswersIsNot() {
        var exchange = Exchange()
        exchange.watch(1...3)
        exchange.connect()
        exchange.pass(.hours(1))
        #expect(exchange.session.requestsUnanswered == 0)
    }

    @Test func ourSubscriptionsAreKnownByTheirNames() throws {
        var exchange = Exchange()
        exchange.watch(1...3)
        exchange.connect()
        for request in exchange.relay.requests { #expect(exchange.session.wasOpened(request.id)) }
        for name in ["stranger", "c", "c0x", "c999999"] {
            #expect(try !exchange.session.wasOpened(#require(SubscriptionID(name))))
        }
    }

    @Test func someEndsOfConnectionsAreOffences() {
        let offences = ConnectionFailure.allCases.compactMap { RelayOffence(endOf: $0) }
        #expect(Set(offences) == [.brokenFrames, .tooLong, .unread])
    }
}

struct RelayPatternTests {
    private func url(_ text: String) throws -> RelayURL { try #require(RelayURL(text)) }

    @Test(arguments: [
        ("wss://Relay.example.com/", "wss://relay.example.com"), ("Relay.Example.com", "relay.example.com"),
        ("*.Example.com", "*.example.com"), ("ws://127.0.0.1:80/a", "ws://127.0.0.1/a"), ("[::1]", "::1"),
    ])
    func oneSpelling(of text: String, is spelling: String) {
        #expect(RelayPattern(text)?.text == spelling)
    }

    @Test(arguments: [
        "", "*", "*.", "*.com", "a*.example.com", "https://relay.example.com", "relay.example.com/path", "a b",
    ])
    func noPattern(_ text: String) { #expect(RelayPattern(text) == nil) }

    @Test func aPatternMeansWhatItSays() throws {
        let patterns = ["wss://one.example/path", "host.example", "*.bad.example"].compactMap { RelayPattern($0) }
        let blocked = BlockedRelays(patterns)
        let cases = [
            ("wss://one.example/path", true), ("wss://one.example", false), ("ws://host.example:99/x", true),
            ("wss://sub.host.example", false), ("wss://a.b.bad.example", true), ("wss://bad.example", false),
            ("wss://notbad.example", false),
        ]
        for (text, isBlocked) in cases {
            #expect(try blocked.contains(url(text)) == isBlocked, "\(text)")
            #expect(try patterns.contains { try $0.matches(url(text)) } == isBlocked, "\(text)")
        }
        #expect(try !BlockedRelays().contains(url("wss://one.example")) && BlockedRelays().isEmpty)
    }
}
