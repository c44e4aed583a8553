import PluginKit
import Testing

@testable import MQTTTransport

struct MQTTPacketTests {
    @Test func writesCONNECT() {
        let three = MQTTPacket.connect(.v3, clientID: "c", username: nil, password: nil, keepAliveSeconds: 60)
        #expect(three == [0x10, 13, 0, 4] + Array("MQTT".utf8) + [4, 0x02, 0, 60, 0, 1] + Array("c".utf8))
        let five = MQTTPacket.connect(.v5, clientID: "", username: "u", password: "pw", keepAliveSeconds: 600)
        let expected: [UInt8] =
            [0x10, 20, 0, 4] + Array("MQTT".utf8) + [5, 0xC2, 0x02, 0x58, 0, 0, 0, 0, 1] + Array("u".utf8) + [0, 2]
            + Array("pw".utf8)
        #expect(five == expected)
    }

    @Test func writesPUBLISH() {
        var message = MQTTMessage(topic: "a/b", payload: Array("{}".utf8), isRetained: false, lifetimeSeconds: nil)
        #expect(MQTTPacket.publish(message, id: nil, .v3) == [0x30, 7, 0, 3] + Array("a/b{}".utf8))
        #expect(
            MQTTPacket.publish(message, id: 0x0102, .v3) == [0x32, 9, 0, 3] + Array("a/b".utf8) + [1, 2]
                + Array("{}".utf8)
        )
        message = MQTTMessage(topic: "t", payload: [7], isRetained: true, lifetimeSeconds: 0x0001_0203)
        let properties: [UInt8] = [0x01, 1, 0x02, 0, 1, 2, 3, 0x03, 0, 16] + Array("application/json".utf8)
        let five = MQTTPacket.publish(message, id: 9, .v5)
        #expect(five == [0x33, 33, 0, 1] + Array("t".utf8) + [0, 9, 26] + properties + [7])
    }

    @Test(arguments: [(0, 1), (120, 1), (121, 2), (16_376, 2), (16_377, 3), (2_097_144, 3), (2_097_145, 4)])
    func lengthsHaveOneToFourBytes(_ payload: Int, _ count: Int) {
        let message = MQTTMessage(
            topic: "topic",
            payload: [UInt8](repeating: 0, count: payload),
            isRetained: false,
            lifetimeSeconds: nil
        )
        let packet = MQTTPacket.publish(message, id: nil, .v3)
        #expect(packet.count == 1 + count + 7 + payload)
        #expect(packet.dropFirst().prefix(count).dropLast().allSatisfy { $0 & 0x80 != 0 })
        #expect(packet[count] & 0x80 == 0)
    }
}

struct MQTTReaderTests {
    private static let connack: [UInt8] = [
        // Receive Maximum, Maximum QoS, Retain Available, Maximum Packet Size, Assigned Client Identifier, Server Keep
        // Alive, Reason String, User Property, Session Expiry Interval, Topic Alias Maximum, Wildcards.
        0x20, 50, 0, 0, 47, 0x21, 0, 10, 0x24, 0, 0x25, 0, 0x27, 0, 0, 0x10, 0, 0x12, 0, 3, 0x61, 0x62, 0x63, 0x13, 0,
        30, 0x1F, 0, 2, 0x6F, 0x6B, 0x26, 0, 1, 0x6B, 0, 1, 0x76, 0x11, 0, 0, 0, 0, 0x22, 0, 10, 0x28, 1, 0x29, 1, 0x2A,
        1,
    ]

    @Test func acceptedPacketsAreRead() throws {
        var reader = MQTTReader(.v5)
        var limits = MQTTLimits()
        limits.receiveMaximum = 10
        limits.packetSize = 4096
        limits.allowsQoS1 = false
        limits.allowsRetained = false
        limits.keepAliveSeconds = 30
        #expect(try reader.take(Self.connack) == [.connected(limits)])
        var other = MQTTReader(.v3)
        #expect(try other.take([0x20, 2, 1, 0]) == [.connected(MQTTLimits())])
    }

    @Test func readsRepliesHoweverTheyArrive() throws {
        var reader = MQTTReader(.v5)
        let bytes: [UInt8] = [
            0xD0, 0, 0x40, 2, 1, 2, 0x40, 3, 0, 7, 0x87, 0x40, 4, 0, 8, 0x10, 0, 0xE0, 2, 0x8B, 0, 0xE0, 0,
        ]
        let expected: [MQTTReply] = [
            .pong, .acknowledged(id: 0x0102, reason: 0), .acknowledged(id: 7, reason: 0x87),
            .acknowledged(id: 8, reason: 0x10), .disconnected(reason: 0x8B), .disconnected(reason: 0),
        ]
        #expect(try reader.take(bytes) == expected)
        #expect(try bytes.flatMap { try reader.take([$0]) } == expected)
        var refused = MQTTReader(.v3)
        #expect(try refused.take([0x20, 2, 0, 5]) == [.refused(5)])
    }

    @Test(
        arguments: [
            [0x20, 1, 0], [0x20, 2, 2, 0], [0x20, 4, 0, 0, 9, 0], [0x20, 6, 0, 0, 3, 0x21, 0, 0],
            [0x20, 5, 0, 0, 2, 0x7F, 0],
            [0x20, 7, 0, 0, 4, 0x1F, 0, 9, 0], [0x40, 1, 0], [0x40, 2, 0, 0], [0x30, 3, 0, 1, 0x61],
            [0x90, 3, 0, 1, 0],
            [0x00, 0], [0xFF, 0], [0xC0, 0], [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 1], [0x40, 0x80, 0x80, 0x80, 0x01],
        ] as [[UInt8]]
    )
    func invalidBrokerPacketsAreRefused(_ bytes: [UInt8]) {
        var reader = MQTTReader(.v5)
        #expect(throws: MQTTReader.Malformed.self) { try reader.take(bytes) }
    }

    /// The codec reads or rejects any bytes of a broker, and never reads past their end.
    @Test func randomBytesCauseAtMostAnError() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var reader = MQTTReader(Bool.random() ? .v5 : .v3)
            var bytes = Self.connack
            for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count)] = UInt8.random(in: 0...255, using: &generator) }
            _ = try? reader.take(bytes)
            _ = try? reader.take(bytes)
        }
    }
}
