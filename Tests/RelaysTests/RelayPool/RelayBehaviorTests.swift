import Core
import Logging
import Nostr
import Testing
import TimeTestSupport

@testable import Relays

struct RelayBehaviorTests {
    private let start = Timestamp(seconds: 1_773_446_400)

    @Test func accidentalFailureIsNotAViolation() {
        var behavior = RelayBehavior()
        let lines = (1..<RelayViolation.malformed.tolerance).count { _ in behavior.note(.malformed, 1, now: start) }
        #expect(lines == 0 && behavior.misbehaviour(at: start).isEmpty)
        let isToldAtLast = behavior.note(.malformed, 1, now: start)
        #expect(isToldAtLast)
        #expect(behavior.misbehaviour(at: start) == [.malformed])
    }

    @Test func violationIsLoggedOnceAnHour() {
        var behavior = RelayBehavior()
        let lines = (0..<120).count { behavior.note(.flood, 1, now: start + .minutes(Int64($0))) }
        #expect(lines == 2)
        #expect(behavior.violations[.flood] == 120)
    }

    @Test func misbehaviourIsForgottenWithTheHour() {
        var behavior = RelayBehavior()
        _ = behavior.note(.flood, 1, now: start)
        #expect(behavior.misbehaviour(at: start + .minutes(59)) == [.flood])
        #expect(behavior.misbehaviour(at: start + .minutes(60)).isEmpty)
        // A clock that was set back does not suppress later reports.
        let isToldAgain = behavior.note(.flood, 1, now: start - .hours(5))
        #expect(isToldAgain)
    }

    @Test func relayMessagesAreCutAndCleaned() {
        let words = RelayWords("NOTICE", "a\u{1B}[31m\u{202E}b\n" + String(repeating: "x", count: 500), at: start)
        #expect(words.text.hasPrefix("a [31m b xxx") && words.text.hasSuffix("…"))
        #expect(words.text.unicodeScalars.count == 201)
    }

    @Test func lastMessagesAreKeptOnce() {
        var behavior = RelayBehavior()
        for text in ["one", "two", "one", "three", "four", "four"] {
            behavior.said(RelayWords("CLOSED", text, at: start), isRefusal: true)
        }
        #expect(behavior.lastMessages.map(\.text) == ["one", "three", "four"] && behavior.refusals == 6)
    }

    @Test func onlyTheOperatorsRelaysAreNamed() throws {
        let log = LinesOfLog()
        let own = try #require(RelayURL("wss://own.example"))
        let book = RelayViolationTable(operators: [own], now: { [start] in start }, logger: log.logger)
        for number in 0..<100 {
            book.note(.flood, by: try #require(RelayURL("wss://r\(number).example")))
        }
        book.note(.flood, 2, by: own)
        let lines = log.lines
        #expect(lines.count == 31 && lines.count { $0.contains("wss://own.example") } == 1)
        #expect(!lines.contains { $0.contains("wss://r") })
        #expect(lines.allSatisfy { $0.contains("carillon relays list --misbehaving") })
        #expect(book.misbehaving.count == 101)
        #expect(book.violations[own] == [.flood: 2] && book.violations[nil] == [.flood: 100])
    }
}

/// A session's view of a relay's behavior.
struct SessionConductTests {
    @Test func relayThatNeverEndsStoredEventsIsDetected() {
        var exchange = Exchange()
        exchange.relay.endsStoredEvents = false
        exchange.watch(1...3)
        exchange.connect()
        exchange.pass(.seconds(29))
        #expect(exchange.session.requests.unanswered == 0)
        exchange.pass(.minutes(10))
        #expect(exchange.session.requests.unanswered >= Int(RelayViolation.unanswered.tolerance))
    }

    @Test func relayThatEndsStoredEventsHasNoViolation() {
        var exchange = Exchange()
        exchange.watch(1...3)
        exchange.connect()
        exchange.pass(.hours(1))
        #expect(exchange.session.requests.unanswered == 0)
    }

    @Test func ownSubscriptionsAreRecognizedByID() throws {
        var exchange = Exchange()
        exchange.watch(1...3)
        exchange.connect()
        for request in exchange.relay.requests { #expect(exchange.session.requests.wasOpened(request.id)) }
        for name in ["stranger", "c", "c0x", "c999999"] {
            #expect(try !exchange.session.requests.wasOpened(#require(SubscriptionID(name))))
        }
    }

    @Test func someConnectionFailuresAreViolations() {
        let violations = ConnectionError.allCases.compactMap { RelayViolation(endOf: $0) }
        #expect(Set(violations) == [.brokenFrames, .tooLong, .unread])
    }
}

struct RelayPatternTests {
    private func url(_ text: String) throws -> RelayURL { try #require(RelayURL(text)) }

    @Test(arguments: [
        ("wss://Relay.example.com/", "wss://relay.example.com"), ("Relay.Example.com", "relay.example.com"),
        ("*.Example.com", "*.example.com"), ("ws://127.0.0.1:80/a", "ws://127.0.0.1/a"), ("[::1]", "::1"),
    ])
    func patternIsNormalized(of text: String, is spelling: String) {
        #expect(RelayPattern(text)?.text == spelling)
    }

    @Test(arguments: [
        "", "*", "*.", "*.com", "a*.example.com", "https://relay.example.com", "relay.example.com/path", "a b",
    ])
    func invalidPatternIsRefused(_ text: String) { #expect(RelayPattern(text) == nil) }

    @Test func patternMatchesItsRelays() throws {
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
