import CarillonABI
import Core
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import MQTTTransport

/// A transport on a host; the test plays the broker on its streams.
private struct Fixture {
    static let block: [String: any Sendable] = ["server": "mqtt.example.com", "security": "none"]

    let host = FakeHost()
    let clock = ManualClock()
    let transport: MQTTTransport
    /// One box for all deliveries: its end also ends the transport and its timers.
    private let box: TransportBox

    init(_ more: [String: any Sendable] = [:]) throws {
        let clock = clock
        transport = try MQTTTransport(
            configuration: JSONObject(Fixture.block.merging(more) { $1 }),
            host: Host(host.pointer),
            now: clock.now
        )
        box = TransportBox(transport, host: try Host(host.pointer))
    }

    @discardableResult
    func deliver(
        _ sample: SampleNotification = .wake("dm"),
        to token: String = "phones/alice",
        ticket: UInt64 = 1
    ) throws -> carillon_status {
        SampleRegistration(token: token).withABI { registration in
            sample.withABI { box.deliver(ticket, registration, $0) }
        }
    }

    /// Returns the packets on a stream.
    func packets(_ index: Int = 0) -> [(first: UInt8, content: [UInt8])] {
        var rest = host.streams.all[index].written[...]
        var packets: [(UInt8, [UInt8])] = []
        while let first = rest.popFirst() {
            var (length, shift) = (0, 0)
            while let byte = rest.popFirst() {
                length |= Int(byte & 127) << shift
                shift += 7
                if byte & 128 == 0 { break }
            }
            packets.append((first, Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
        return packets
    }

    /// Returns the identifiers of the messages with QoS 1 on a stream.
    func ids(_ index: Int = 0) -> [[UInt8]] {
        packets(index).filter { $0.first & 0xF6 == 0x32 }.map { packet in
            let topic = Int(packet.content[0]) << 8 | Int(packet.content[1])
            return Array(packet.content[(2 + topic)..<(4 + topic)])
        }
    }

    /// Connects the stream at `index`, and accepts the login.
    func welcome(_ index: Int = 0, properties: [UInt8] = []) {
        host.streams.opened(index)
        host.streams.receive(
            [0x20, UInt8(3 + properties.count), 0, 0, UInt8(properties.count)] + properties,
            on: index
        )
    }

    /// Acknowledges all messages so far, starting with number `from`.
    func acknowledge(_ index: Int = 0, from: Int = 0, reason: UInt8? = nil) {
        for id in ids(index).dropFirst(from) {
            host.streams.receive([0x40, reason == nil ? 2 : 3] + id + (reason.map { [$0] } ?? []), on: index)
        }
    }
}

struct MQTTTransportTests {
    private func outcome(
        _ kind: carillon_outcome_kind,
        _ reason: String,
        status: UInt32 = 0,
        ticket: UInt64 = 1,
        scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> RecordedOutcome {
        RecordedOutcome(ticket: ticket, kind: kind, status: status, reason: reason, scope: scope)
    }

    @Test func publishesAndKeepsTheConnection() throws {
        let fixture = try Fixture(["topic_prefix": "push/of app", "client_id": "carillon"])
        var sample = SampleNotification.alert(title: "Alice", body: "Hello")
        sample.expiresAt = UInt64(ManualClock.start.milliseconds) + 90_000
        sample.native = #"{"colour":"red","title":"no"}"#
        try fixture.deliver(sample, ticket: 1)
        let stream = try #require(fixture.host.streams.all.first)
        #expect(stream.host == "mqtt.example.com" && stream.port == 1883 && !stream.usesTLS && !stream.isUntrusted)
        #expect(stream.idleTimeout == 150_000 && stream.written.isEmpty)
        fixture.welcome()
        try fixture.deliver(ticket: 2)
        fixture.acknowledge()
        #expect(fixture.host.outcomes == [1, 2].map { outcome(.CARILLON_DELIVERED, "delivered", ticket: $0) })
        let packets = fixture.packets()
        #expect(packets.map(\.first) == [0x10, 0x32, 0x32])
        let content = packets[1].content
        let topic = "push/of app/phones/alice"
        #expect(Array(content.prefix(2 + topic.utf8.count)) == [0, UInt8(topic.utf8.count)] + Array(topic.utf8))
        let properties = content.dropFirst(2 + topic.utf8.count + 2)
        #expect(properties.prefix(8) == [26, 0x01, 1, 0x02, 0, 0, 0, 90])
        let payload = String(decoding: properties.dropFirst(27), as: UTF8.self)
        #expect(
            try isSameJSON(
                payload,
                #"""
                {"id":"6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f","mode":"alert","signal":"reaction","count":1,
                "urgency":"normal","expires_at":1770000090,"title":"Alice","body":"Hello","colour":"red"}
                """#
            ),
            "\(payload)"
        )
    }

    @Test func speaksTheOldVersionAndAtMostOnce() throws {
        let fixture = try Fixture(["version": "3.1.1", "qos": 0, "retain": true, "username": "u", "password": "p"])
        try fixture.deliver()
        fixture.host.streams.opened()
        fixture.host.streams.receive([0x20, 2, 0, 0])
        #expect(fixture.host.outcomes == [outcome(.CARILLON_DELIVERED, "sent")])
        let packets = fixture.packets()
        #expect(packets.map(\.first) == [0x10, 0x31] && packets[0].content[6] == 4)
        #expect(String(decoding: packets[1].content.dropFirst(2), as: UTF8.self).hasPrefix("carillon/phones/alice{"))
    }

    @Test func wrongPasswordIsMisconfiguredAndEndsAllQueuedMessages() throws {
        let fixture = try Fixture(["username": "u", "password": "wrong"])
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.host.streams.opened()
        fixture.host.streams.receive([0x20, 3, 0, 0x86, 0])
        let expected = [1, 2].map { outcome(.CARILLON_MISCONFIGURED, "bad-credentials", status: 0x86, ticket: $0) }
        #expect(fixture.host.outcomes == expected)
        #expect(fixture.host.streams.all[0].isClosing)
        #expect(fixture.host.log == ["the broker refused username and password (134)"])
        fixture.host.streams.end()
        try fixture.deliver(ticket: 3)
        #expect(fixture.host.streams.all.count == 2)
    }

    @Test func closedConnectionIsReopened() throws {
        let fixture = try Fixture()
        try fixture.deliver(ticket: 1)
        fixture.welcome()
        // It is unknown whether the broker has it.
        fixture.host.streams.end(0, "reset")
        let lost = outcome(.CARILLON_RETRY, "reset", scope: .CARILLON_SCOPE_TRANSPORT)
        #expect(fixture.host.outcomes == [lost] && fixture.host.streams.all.count == 1)
        try fixture.deliver(ticket: 2)
        fixture.welcome(1)
        fixture.acknowledge(1)
        // While idle, and the broker sends a reason.
        fixture.host.streams.receive([0xE0, 2, 0x8B, 0], on: 1)
        #expect(fixture.host.streams.all[1].isClosing)
        // Until the end of the old connection is known, the next message waits.
        try fixture.deliver(ticket: 3)
        #expect(fixture.host.streams.all.count == 2)
        fixture.host.streams.end(1)
        fixture.welcome(2)
        fixture.acknowledge(2)
        let delivered = [2, 3].map { outcome(.CARILLON_DELIVERED, "delivered", ticket: $0) }
        #expect(fixture.host.outcomes == [lost] + delivered)
    }

    @Test func unreachableBrokerEndsAllQueuedMessages() throws {
        let fixture = try Fixture()
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.host.streams.end(0, "unreachable")
        let expected = [1, 2].map {
            outcome(.CARILLON_RETRY, "unreachable", ticket: $0, scope: .CARILLON_SCOPE_TRANSPORT)
        }
        #expect(fixture.host.outcomes == expected)
        fixture.host.streams.setAdmission(.CARILLON_BUSY)
        try fixture.deliver(ticket: 3)
        #expect(fixture.host.outcomes.last?.reason == "no-stream")
    }

    @Test func messagesInFlightStayWithinTheBrokersLimit() throws {
        let fixture = try Fixture()
        for ticket in 1...5 { try fixture.deliver(ticket: UInt64(ticket)) }
        fixture.welcome(properties: [0x21, 0, 2])
        #expect(fixture.ids().count == 2)
        fixture.acknowledge()
        #expect(fixture.ids().count == 4)
        fixture.acknowledge(from: 2)
        fixture.acknowledge(from: 4)
        #expect(fixture.host.outcomes.map(\.ticket) == [1, 2, 3, 4, 5])
        #expect(Set(fixture.ids()).count == 5)
    }

    @Test func theBrokersLimitsHold() throws {
        let fixture = try Fixture(["retain": true])
        try fixture.deliver(.alert(title: "Alice", body: String(repeating: "x", count: 200)), ticket: 1)
        fixture.welcome(properties: [0x27, 0, 0, 0, 200])
        #expect(fixture.host.outcomes == [outcome(.CARILLON_REJECTED, "payload-too-large")])
        let other = try Fixture(["retain": true])
        try other.deliver(ticket: 1)
        other.welcome(properties: [0x25, 0])
        #expect(other.host.outcomes == [outcome(.CARILLON_MISCONFIGURED, "retain-not-supported")])
        let third = try Fixture()
        try third.deliver(ticket: 1)
        third.welcome(properties: [0x24, 0])
        #expect(third.host.outcomes == [outcome(.CARILLON_MISCONFIGURED, "qos-not-supported")])
    }

    @Test func refusedTopicDoesNotAffectOthers() throws {
        let fixture = try Fixture()
        try fixture.deliver(to: "others/private", ticket: 1)
        fixture.welcome()
        fixture.acknowledge(reason: 0x87)
        try fixture.deliver(ticket: 2)
        fixture.acknowledge(from: 1)
        #expect(
            fixture.host.outcomes == [
                outcome(.CARILLON_REJECTED, "not-authorized", status: 0x87),
                outcome(.CARILLON_DELIVERED, "delivered", ticket: 2),
            ]
        )
        #expect(!fixture.host.log.joined().contains("private"))
    }

    @Test(arguments: [[0x40, 2, 0, 9], [0x20, 3, 0, 0, 0], [0x30, 3, 0, 1, 0x61], Array("HTTP/1.1 400".utf8)])
    func brokerThatViolatesTheProtocolIsDisconnected(_ bytes: [UInt8]) throws {
        let fixture = try Fixture()
        try fixture.deliver()
        fixture.welcome()
        fixture.host.streams.receive(bytes)
        #expect(fixture.host.outcomes == [outcome(.CARILLON_RETRY, "protocol", scope: .CARILLON_SCOPE_TRANSPORT)])
        #expect(fixture.host.streams.all[0].isClosing)
    }

    @Test func cancelledDeliveryStopsWaiting() throws {
        let fixture = try Fixture()
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.transport.cancel(2)
        fixture.welcome()
        fixture.transport.cancel(1)
        fixture.acknowledge()
        let cancelled = [2, 1].map { outcome(.CARILLON_RETRY, "cancelled", ticket: $0) }
        #expect(fixture.host.outcomes == cancelled)
    }

    @Test(
        arguments: [
            ("phones/alice", true), ("ünïcode/with blank", true), ("", false), ("a/#", false), ("a/+/b", false),
            ("#", false),
            ("/a", false), ("a/", false), ("a//b", false), ("$SYS/x", false), ("a\u{0}b", false), ("a\nb", false),
            (String(repeating: "a", count: 1024), true), (String(repeating: "a", count: 1025), false),
        ]
    )
    func validTopicsAreAccepted(_ token: String, _ isPlain: Bool) throws {
        let fixture = try Fixture()
        #expect(try fixture.deliver(to: token) == (isPlain ? .CARILLON_OK : .CARILLON_INVALID))
    }

    @Test func unsupportedNotificationIsRefused() throws {
        let fixture = try Fixture()
        #expect(try fixture.deliver(.envelope("", title: "t")) == .CARILLON_UNSUPPORTED)
        #expect(throws: PluginError.self) { try MQTTTransport.check(JSONObject(["title": "x"])) }
        #expect(throws: Never.self) { try MQTTTransport.check(JSONObject(["colour": "x"])) }
    }

    private static let mistakes: [([String: any Sendable], String)] = [
        (["server": "mqtt://x"], "server: expected the broker's name, such as mqtt.example.com, found another text"),
        (["security": "ssl"], "security: expected tls or none, found another text"),
        (["version": "4"], "version: expected 3.1.1 or 5, found another text"),
        (["qos": 2], "qos: expected a whole number from 0 to 1, found 2"),
        (["password": "p"], "password: expected username too"),
        (
            ["topic_prefix": "a/#"],
            "topic_prefix: expected a topic such as carillon, without + and #, found another text"
        ),
        (["keep_alive_seconds": 5], "keep_alive_seconds: expected a whole number from 10 to 1200, found 5"),
    ]

    @Test(arguments: mistakes.indices)
    func errorsInTheBlockAreNamed(_ index: Int) throws {
        let (change, sentence) = Self.mistakes[index]
        let block = try JSONObject(Fixture.block.merging(change) { $1 })
        do throws(PluginError) {
            _ = try MQTTConfiguration(block)
            Issue.record("it was taken")
        } catch {
            #expect(error.description == sentence)
        }
    }
}

/// The packets that are sent while no message is.
struct KeepAliveTests {
    private static let ping: [UInt8] = [0xC0, 0]

    @Test func silentBrokerIsPingedTwiceAndDisconnected() throws {
        let fixture = try Fixture(["keep_alive_seconds": 40])
        try fixture.deliver(ticket: 1)
        #expect(fixture.host.timers.waits.isEmpty)
        fixture.welcome()
        fixture.acknowledge()
        #expect(fixture.host.timers.waits == [.seconds(20)])
        fixture.host.timers.advance(by: .seconds(20))
        #expect(Array(fixture.host.streams.all[0].written.suffix(2)) == Self.ping)
        fixture.host.streams.receive([0xD0, 0])
        fixture.host.timers.advance(by: .seconds(20))
        try fixture.deliver(ticket: 2)
        fixture.host.timers.advance(by: .seconds(20))
        #expect(fixture.host.streams.all[0].isClosing)
        #expect(fixture.host.outcomes.map(\.reason) == ["delivered", "timeout"])
        fixture.host.streams.end(0)
        #expect(fixture.host.timers.waits.isEmpty)
        #expect(fixture.packets().filter { $0.first == 0xC0 }.count == 2)
    }

    @Test func theBrokersKeepAliveCounts() throws {
        let fixture = try Fixture()
        try fixture.deliver()
        fixture.welcome(properties: [0x13, 0, 10])
        #expect(fixture.host.timers.waits == [.seconds(5)])
        let other = try Fixture()
        try other.deliver()
        other.welcome(properties: [0x13, 0, 0])
        #expect(other.host.timers.waits.isEmpty)
    }

    @Test(
        "carillon push mqtt check: a CONNECT without a message",
        arguments: [
            ([:], [0x20, 3, 0, 0, 0], "accepted"),
            ([:], [0x20, 3, 0, 0x86, 0], "refused: bad-credentials (134)"),
            ([:], [0x20, 3, 0, 0x89, 0], "unknown: server-busy (137)"),
            (["version": "3.1.1"], [0x20, 2, 0, 4], "refused: bad-credentials (4)"),
            ([:], [0x20, 5, 0, 0, 2, 0x24, 0], "refused: qos-not-supported"),
            (["qos": 0], [0x20, 5, 0, 0, 2, 0x24, 0], "accepted"),
        ] as [([String: any Sendable], [UInt8], String)]
    )
    func theAccountIsChecked(more: [String: any Sendable], answer: [UInt8], expected: String) throws {
        let fixture = try Fixture(more.merging(["client_id": "router"]) { $1 })
        let heard = Heard<CommandAnswer>()
        _ = fixture.transport.command(["check"]) { heard.add($0) }
        fixture.host.streams.opened()
        fixture.host.streams.receive(answer)
        #expect(heard.texts == [expected])
        #expect(fixture.host.streams.all[0].isClosing)
        fixture.host.streams.end(0)
        #expect(heard.texts == [expected])
        // The router's own connection has the other id, and stays.
        #expect(fixture.host.streams.all[0].text.contains("router-check"))
    }

    @Test func unreachableBrokerLeavesTheAccountUnknown() throws {
        let fixture = try Fixture()
        let heard = Heard<CommandAnswer>()
        _ = fixture.transport.command(["check"]) { heard.add($0) }
        fixture.host.streams.end(0, "refused")
        #expect(heard.texts == ["unknown: refused"])
    }

    @Test func passwordMayComeFromAFile() throws {
        let fixture = try Fixture(["username": "u", "password_file": "pw", "$files": ["pw": "from-the-file\n"]])
        try fixture.deliver()
        fixture.host.streams.opened()
        #expect(fixture.host.streams.all[0].text.hasSuffix("from-the-file"))
    }
}
