import PluginKit

/// One connection to a broker, as a pure state machine: it takes events and returns actions. The caller assigns the
/// numbers of messages.
struct MQTTSession: Sendable {
    enum Action: Sendable, Equatable {
        case write([UInt8])
        case close
        /// Messages may be published now. Call ``pingDue()`` at this interval; 0: never.
        case ready(pingSeconds: Int64)
        /// The result of a message.
        case finished(Int, Outcome)
        /// The broker cannot be used: this is the outcome of all waiting messages.
        case failed(Outcome)
    }

    private enum Step: Sendable {
        case connecting
        /// CONNECT was sent.
        case greeting
        case ready
        case over
    }

    /// The maximum number of messages in flight. Together they fit into the buffer of a stream.
    static let inFlightLimit = 32

    private let broker: MQTTBroker
    private var step = Step.connecting
    private var reader: MQTTReader
    private var limits = MQTTLimits()
    /// The messages that wait for their PUBACK, by packet identifier.
    private var inFlight: [UInt16: Int] = [:]
    private var lastID: UInt16 = 0
    private var awaitsPong = false

    init(_ broker: MQTTBroker) {
        self.broker = broker
        reader = MQTTReader(broker.version)
    }

    /// Whether ``publish(_:as:)`` may be called.
    var isReady: Bool { step == .ready && inFlight.count < min(MQTTSession.inFlightLimit, Int(limits.receiveMaximum)) }
    /// Whether the session has ended.
    var isOver: Bool { step == .over }

    mutating func opened() -> [Action] {
        guard step == .connecting else { return [] }
        step = .greeting
        return [
            .write(
                MQTTPacket.connect(
                    broker.version,
                    clientID: broker.clientID,
                    username: broker.username,
                    password: broker.password,
                    keepAliveSeconds: broker.keepAliveSeconds
                )
            )
        ]
    }

    mutating func received(_ bytes: [UInt8]) -> [Action] {
        var actions: [Action] = []
        do throws(MQTTReader.Malformed) {
            for reply in try reader.take(bytes) where step != .over { actions += try answer(reply) }
        } catch {
            actions += giveUp(Outcome(.retry, reason: "protocol", scope: .transport)) + [.close]
        }
        return actions
    }

    /// Handles the end of the connection; `reason` is empty if it was closed properly.
    mutating func closed(_ reason: String) -> [Action] {
        giveUp(Outcome(.retry, reason: reason.isEmpty ? "closed" : reason, scope: .transport))
    }

    /// Sends PINGREQ, or ends the session if the broker has not responded to the last one.
    mutating func pingDue() -> [Action] {
        guard step == .ready else { return [] }
        guard !awaitsPong else { return giveUp(Outcome(.retry, reason: "timeout", scope: .transport)) + [.close] }
        awaitsPong = true
        return [.write(MQTTPacket.pingRequest)]
    }

    /// Sends a message; only while ``isReady``.
    mutating func publish(_ message: MQTTMessage, as number: Int) -> [Action] {
        if let lack = lack(isRetained: message.isRetained) { return [.finished(number, lack)] }
        let id = broker.quality == 0 ? nil : nextID()
        let packet = MQTTPacket.publish(message, id: id, broker.version)
        guard packet.count <= min(limits.packetSize.map { Int($0) } ?? .max, MQTTPacket.limit) else {
            return [.finished(number, Outcome(.rejected, reason: "payload-too-large"))]
        }
        guard let id else {
            // QoS 0 has no acknowledgement.
            return [.write(packet), .finished(number, Outcome(.delivered, reason: "sent"))]
        }
        inFlight[id] = number
        return [.write(packet)]
    }

    /// Returns the outcome for messages that the connected broker does not support; nil if it supports them.
    func lack(isRetained: Bool) -> Outcome? {
        if !limits.allowsQoS1, broker.quality != 0 { return Outcome(.misconfigured, reason: "qos-not-supported") }
        if !limits.allowsRetained, isRetained { return Outcome(.misconfigured, reason: "retain-not-supported") }
        return nil
    }

    private mutating func answer(_ reply: MQTTReply) throws(MQTTReader.Malformed) -> [Action] {
        switch (step, reply) {
        case (.greeting, .connected(let limits)):
            self.limits = limits
            step = .ready
            let keepAlive = limits.keepAliveSeconds ?? broker.keepAliveSeconds
            // Twice in each keep-alive interval; the broker disconnects only after one and a half.
            return [.ready(pingSeconds: keepAlive == 0 ? 0 : max(1, Int64(keepAlive) / 2))]
        case (.greeting, .refused(let code)):
            let outcome = broker.version == .v5 ? MQTTReason.refusal5(code) : MQTTReason.refusal3(code)
            return giveUp(outcome) + [.close]
        case (.ready, .acknowledged(let id, let reason)):
            guard let number = inFlight.removeValue(forKey: id) else { throw MQTTReader.Malformed() }
            return [.finished(number, MQTTReason.acknowledgement(reason))]
        case (.ready, .pong):
            awaitsPong = false
            return []
        case (.greeting, .disconnected(let reason)), (.ready, .disconnected(let reason)):
            return giveUp(MQTTReason.disconnection(reason)) + [.close]
        default: throw MQTTReader.Malformed()
        }
    }

    /// Returns the next identifier that no message in flight has; never 0.
    private mutating func nextID() -> UInt16 {
        repeat {
            lastID = lastID == .max ? 1 : lastID + 1
        } while inFlight[lastID] != nil
        return lastID
    }

    /// Ends all messages in flight.
    private mutating func giveUp(_ outcome: Outcome) -> [Action] {
        defer {
            step = .over
            inFlight = [:]
        }
        switch step {
        case .connecting, .greeting: return [.failed(outcome)]
        case .ready: return inFlight.values.sorted().map { .finished($0, outcome) }
        case .over: return []
        }
    }
}
