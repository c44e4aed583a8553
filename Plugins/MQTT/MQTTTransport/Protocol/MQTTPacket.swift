import PluginKit

/// The supported versions of the protocol.
enum MQTTVersion: String, CaseIterable, Sendable {
    /// ISO/IEC 20922.
    case v3 = "3.1.1"
    case v5 = "5"

    fileprivate var level: UInt8 { self == .v3 ? 4 : 5 }
}

/// Encodes packets to a broker (MQTT 3.1.1 and 5, chapter 3).
enum MQTTPacket {
    /// The longest remaining length that the protocol can encode.
    static let limit = 268_435_455

    /// CONNECT with a clean session and without a will.
    static func connect(
        _ version: MQTTVersion,
        clientID: String,
        username: String?,
        password: String?,
        keepAliveSeconds: UInt16
    ) -> [UInt8] {
        var body: [UInt8] = []
        body.append(text: "MQTT")
        body.append(version.level)
        let cleanStart: UInt8 = 0x02
        body.append(cleanStart | (username == nil ? 0 : 0x80) | (password == nil ? 0 : 0x40))
        body.append(number: keepAliveSeconds)
        if version == .v5 { body.append(0) }
        body.append(text: clientID)
        if let username { body.append(text: username) }
        if let password { body.append(text: password) }
        return packet(0x10, body)
    }

    /// PUBLISH. `id` is the packet identifier: QoS 1 has one, QoS 0 none.
    static func publish(_ message: MQTTMessage, id: UInt16?, _ version: MQTTVersion) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(message.topic.utf8.count + message.payload.count + 64)
        body.append(text: message.topic)
        if let id { body.append(number: id) }
        if version == .v5 {
            var properties: [UInt8] = []
            // Payload Format Indicator: the payload is UTF-8.
            properties += [0x01, 1]
            if let lifetime = message.lifetimeSeconds {
                properties.append(0x02)
                properties.append(number: UInt16(lifetime >> 16))
                properties.append(number: UInt16(truncatingIfNeeded: lifetime))
            }
            properties.append(0x03)
            properties.append(text: "application/json")
            body.append(length: properties.count)
            body += properties
        }
        body += message.payload
        return packet(0x30 | (id == nil ? 0 : 0x02) | (message.isRetained ? 0x01 : 0), body)
    }

    static let pingRequest: [UInt8] = [0xC0, 0]

    static let disconnect: [UInt8] = [0xE0, 0]

    private static func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] {
        var packet = [first]
        packet.append(length: body.count)
        return packet + body
    }
}

/// A message to a topic.
struct MQTTMessage: Sendable, Hashable {
    let topic: String
    let payload: [UInt8]
    /// Whether the broker stores it for later subscribers.
    let isRetained: Bool
    /// How long the broker stores it for offline subscribers; nil: the broker decides.
    let lifetimeSeconds: UInt32?
}

extension [UInt8] {
    fileprivate mutating func append(number: UInt16) {
        append(UInt8(number >> 8))
        append(UInt8(truncatingIfNeeded: number))
    }

    /// Appends a text with its length before it; more than 65,535 bytes are truncated.
    fileprivate mutating func append(text: String) {
        let bytes = text.utf8.prefix(Int(UInt16.max))
        append(number: UInt16(bytes.count))
        append(contentsOf: bytes)
    }

    /// Appends a length in one to four bytes, seven bits in each.
    fileprivate mutating func append(length: Int) {
        var rest = length
        repeat {
            let more: UInt8 = rest > 127 ? 0x80 : 0
            append(UInt8(rest & 127) | more)
            rest >>= 7
        } while rest > 0
    }
}
