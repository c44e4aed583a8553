import Core
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Cluster

/// Connecting, losing and finding servers, with numbers as time.
struct ConnectionStateTests {
    private static let info = #"INFO {"version":"2.15.1","max_payload":100,"headers":true"#
    private var state: ConnectionState
    private var random = SystemRandomNumberGenerator()
    private var attempt = 0

    init() throws {
        var settings = NATSSettings(servers: try ["a", "b"].map { try #require(NATSServer($0)) }, name: "test")
        settings.oldestVersion = (2, 12)
        state = ConnectionState(settings, random: &random)
    }

    private static func words(_ actions: [ConnectionState.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .dial(let server, let attempt): "dial \(server.host) \(attempt)"
            case .startTLS: "tls"
            case .send(let bytes, let attempt):
                "\(attempt): " + String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "|")
            case .hangUp: "hang up"
            case .deliver(let message, let subscription): "deliver \(message.subject) \(subscription)"
            case .connected: "connected"
            case .disconnected(let reason, _): "disconnected: \(reason)"
            case .pong: "pong"
            case .complaint(let words, let unsaid): "complaint: \(words), \(unsaid) unsaid"
            }
        }
    }

    private func host(_ action: String?) throws -> String {
        String(try #require(action).split(separator: " ")[1])
    }

    /// Connects the dialed attempt up to the state in which the client sends commands.
    private mutating func connect(_ attempt: Int, now: Deadline) -> [String] {
        var words = Self.words(state.connected(attempt: attempt, now: now))
        words += Self.words(state.received((Self.info + "}\r\n").utf8, attempt: attempt, now: now))
        words += Self.words(state.received("PONG\r\n".utf8, attempt: attempt, now: now))
        return words.map { $0.contains("CONNECT") ? "introduction" : $0 }
    }

    @Test mutating func subscriptionsSurviveReconnects() throws {
        #expect(Self.words(state.start(now: 0)).count == 1)
        let (one, before) = state.subscribe("x.>", queue: "q")
        #expect(before.isEmpty)
        #expect(connect(1, now: 0) == ["introduction", "1: SUB x.> q \(one)|", "connected"])
        let (two, actions) = state.subscribe("y", queue: nil)
        #expect(Self.words(actions) == ["1: SUB y \(two)|"])
        #expect(Self.words(state.unsubscribe(one)) == ["1: UNSUB \(one)|"])
        let lost = Self.words(state.closed(attempt: 1, "gone", now: 10))
        #expect(lost.prefix(2) == ["hang up", "disconnected: gone"])
        #expect(lost.count == 3)
        #expect(throws: NATSError.disconnected) { try state.publish("x", replyTo: nil, headers: [:], []) }
        // The attempt after a lost one has the number after the next.
        let attempt = try #require(lost.last?.split(separator: " ").last.flatMap { Int($0) })
        #expect(connect(attempt, now: 10) == ["introduction", "\(attempt): SUB y \(two)|", "connected"])
        // Late events of the old connection have no effect.
        #expect(state.closed(attempt: 1, "again", now: 11).isEmpty)
        #expect(state.received("PING\r\n".utf8, attempt: 1, now: 11).isEmpty)
        #expect(state.isReady)
    }

    @Test mutating func serversAreTriedInTurnAndThenLater() throws {
        var hosts = [try host(Self.words(state.start(now: 0)).first)]
        let second = Self.words(state.closed(attempt: 1, "refused", now: 0))
        hosts.append(try host(second.last))
        #expect(Set(hosts) == ["a", "b"])
        let attempt = try #require(second.last?.split(separator: " ").last.flatMap { Int($0) })
        #expect(Self.words(state.closed(attempt: attempt, "refused", now: 0)) == ["hang up", "disconnected: refused"])
        #expect(state.nextDeadline == 100)
        #expect(state.tick(now: 99).isEmpty)
        #expect(try host(Self.words(state.tick(now: 100)).first) == hosts[0])
    }

    @Test mutating func unresponsiveServerIsDisconnected() throws {
        _ = state.start(now: 0)
        #expect(connect(1, now: 0).last == "connected")
        #expect(Self.words(state.tick(now: 500)) == ["1: PING|"])
        #expect(state.received("PONG\r\n".utf8, attempt: 1, now: 501).isEmpty)
        #expect(Self.words(state.tick(now: 1_000)) == ["1: PING|"])
        #expect(Self.words(state.tick(now: 1_500)) == ["1: PING|"])
        #expect(Self.words(state.tick(now: 2_000))[1] == "disconnected: no longer responds")
    }

    /// A server that is busy with messages may respond late to pings.
    @Test mutating func serverThatSendsAnyDataIsAlive() throws {
        _ = state.start(now: 0)
        #expect(connect(1, now: 0).last == "connected")
        for now: Deadline in [500, 1_000, 1_500, 2_000] {
            #expect(Self.words(state.tick(now: now)) == ["1: PING|"])
            _ = state.received("PING\r\n".utf8, attempt: 1, now: now)
        }
        #expect(state.isReady)
    }

    /// A server that floods pings and reads no responses must not fill memory.
    @Test mutating func coalescedPingsGetOnePong() throws {
        _ = state.start(now: 0)
        #expect(connect(1, now: 0).last == "connected")
        let flood = String(repeating: "PING\r\n", count: 10_000) + "PI"
        #expect(Self.words(state.received(flood.utf8, attempt: 1, now: 1)) == ["pong"])
        #expect(Self.words(state.received("NG\r\n".utf8, attempt: 1, now: 2)) == ["pong"])
        #expect(state.received("PING\r\n".utf8, attempt: 0, now: 3).isEmpty)
    }

    @Test mutating func oldOrStoppingServerIsDisconnected() throws {
        _ = state.start(now: 0)
        _ = state.connected(attempt: 1, now: 0)
        let old = #"INFO {"version":"2.9.10","max_payload":100,"headers":true}"#
        #expect(
            Self.words(state.received((old + "\r\n").utf8, attempt: 1, now: 0))[1]
                == "disconnected: is version 2.9.10, and 2.12 or newer is needed"
        )
        let dialed = 3
        #expect(connect(dialed, now: 0).last == "connected")
        let stopping = Self.words(state.received((Self.info + ",\"ldm\":true}\r\n").utf8, attempt: dialed, now: 1))
        #expect(stopping[1] == "disconnected: is about to stop")
        #expect(stopping.count == 3)
    }

    @Test mutating func advertisedServersAreUsed() throws {
        _ = state.start(now: 0)
        _ = state.connected(attempt: 1, now: 0)
        let info = Self.info + #","connect_urls":["c:1","a:4222","nonsense url","d:2"]}"#
        _ = state.received((info + "\r\n").utf8, attempt: 1, now: 0)
        var hosts: Set<String> = []
        var attempt = 1
        for _ in 0..<4 {
            let words = Self.words(state.closed(attempt: attempt, "refused", now: 0))
            guard let dialed = words.last, dialed.hasPrefix("dial") else { break }
            hosts.insert(try host(dialed))
            attempt = try #require(dialed.split(separator: " ").last.flatMap { Int($0) })
        }
        #expect(hosts.isSuperset(of: ["c", "d"]))
    }

    @Test mutating func clearTextIsNotSentWhereTLSIsRequired() throws {
        let settings = NATSSettings(servers: [try #require(NATSServer("tls://a"))], name: "test")
        state = ConnectionState(settings, random: &random)
        _ = state.start(now: 0)
        #expect(state.connected(attempt: 1, now: 0).isEmpty)
        #expect(
            Self.words(state.received((Self.info + "}\r\n").utf8, attempt: 1, now: 0))[1]
                == "disconnected: does not offer TLS"
        )
        _ = state.tick(now: 100)
        _ = state.connected(attempt: 3, now: 100)
        let offering = Self.info + ",\"tls_available\":true}\r\n"
        #expect(Self.words(state.received(offering.utf8, attempt: 3, now: 100)) == ["tls"])
        #expect(Self.words(state.secured(attempt: 3, now: 100)).first?.contains("\"tls_required\":true") == true)
    }

    @Test mutating func badCommandsAreRefused() throws {
        _ = state.start(now: 0)
        _ = connect(1, now: 0)
        for subject in ["", "a b", "a..b", "a.*", ">", "a\r\nPING", "a."] {
            #expect(throws: NATSError.invalidSubject) { try state.publish(subject, replyTo: nil, headers: [:], []) }
        }
        #expect(throws: NATSError.tooLong(101, limit: 100)) {
            try state.publish("a", replyTo: nil, headers: [:], [UInt8](repeating: 0, count: 101))
        }
        #expect(throws: NATSError.invalidHeader("A")) {
            try state.publish("a", replyTo: nil, headers: ["A": "1\r\nB: 2"], [])
        }
    }

    @Test mutating func longErrorIsCut() {
        _ = state.start(now: 0)
        _ = connect(1, now: 0)
        let error = String(repeating: "e", count: 3_000)
        let lost = Self.words(state.received("-ERR '\(error)'\r\n".utf8, attempt: 1, now: 0))
        #expect(lost[1] == "disconnected: \(error.prefix(200))…")
    }

    @Test mutating func errorsNameNoSubject() throws {
        _ = state.start(now: 0)
        _ = connect(1, now: 0)
        let words = "-ERR 'Permissions Violation for Publish to \"secret.subject\"'\r\n"
        #expect(
            Self.words(state.received(words.utf8, attempt: 1, now: 0)) == [
                "complaint: Permissions Violation for Publish to, 0 unsaid"
            ]
        )
        // A line for each rejected message would fill the log.
        for now in [Deadline(milliseconds: 1), 59_999] as [Deadline] {
            #expect(state.received(words.utf8, attempt: 1, now: now).isEmpty)
        }
        #expect(
            Self.words(state.received(words.utf8, attempt: 1, now: 60_000)) == [
                "complaint: Permissions Violation for Publish to, 2 unsaid"
            ]
        )
        #expect(
            Self.words(state.received("-ERR 'Authorization Violation'\r\n".utf8, attempt: 1, now: 0))[1]
                == "disconnected: Authorization Violation"
        )
    }
}
