import PluginKit

/// The connection to a broker and its queue of messages: a pure state machine. It connects for the first message, keeps
/// the connection, and reconnects for the first message after its end. The router does the backoff for an unreachable
/// broker: it delays all messages of the app.
struct MQTTClient<Waiter: Sendable>: Sendable {
    enum Action: Sendable {
        /// Open a connection with this number, and report its events.
        case open(Int)
        case write(Int, [UInt8])
        case close(Int)
        /// Call ``pingDue(_:)`` at this interval until the connection ends.
        case startPings(Int, seconds: Int64)
        case complete(Waiter, Outcome)
    }

    private struct Job: Sendable {
        let number: Int
        let waiter: Waiter
        let message: MQTTMessage
    }

    /// The maximum number of waiting messages.
    static var waiterLimit: Int { 1024 }

    private let broker: MQTTBroker
    private var session: MQTTSession?
    /// The number of the latest connection.
    private var connection = 0
    private var waiting: [Job] = []
    private var underWay: [Int: Waiter] = [:]
    private var lastJob = 0

    init(_ broker: MQTTBroker) {
        self.broker = broker
    }

    /// Accepts a message, or returns nil if the queue is full.
    mutating func deliver(_ message: MQTTMessage, for waiter: Waiter) -> [Action]? {
        guard waiting.count < Self.waiterLimit else { return nil }
        lastJob += 1
        waiting.append(Job(number: lastJob, waiter: waiter, message: message))
        return dispatch()
    }

    mutating func opened(_ number: Int) -> [Action] { run(number) { $0.opened() } }

    mutating func received(_ bytes: [UInt8], on number: Int) -> [Action] { run(number) { $0.received(bytes) } }

    mutating func pingDue(_ number: Int) -> [Action] { run(number) { $0.pingDue() } }

    /// Handles a connection that ended or could not be opened.
    mutating func closed(_ number: Int, _ reason: String) -> [Action] {
        guard number == connection, session != nil else { return [] }
        let actions = run(number) { $0.closed(reason) }
        session = nil
        return actions + dispatch()
    }

    /// Removes the first waiter that matches; nil if there is none. A message in flight may still arrive.
    mutating func withdraw(where matches: (Waiter) -> Bool) -> Waiter? {
        if let index = waiting.firstIndex(where: { matches($0.waiter) }) { return waiting.remove(at: index).waiter }
        guard let number = underWay.first(where: { matches($0.value) })?.key else { return nil }
        return underWay.removeValue(forKey: number)
    }

    private mutating func run(_ number: Int, _ body: (inout MQTTSession) -> [MQTTSession.Action]) -> [Action] {
        guard number == connection, var session else { return [] }
        let steps = body(&session)
        self.session = session
        var actions: [Action] = []
        for step in steps {
            switch step {
            case .write(let bytes): actions.append(.write(number, bytes))
            case .close: actions.append(.close(number))
            case .ready(let seconds):
                if seconds > 0 { actions.append(.startPings(number, seconds: seconds)) }
            case .finished(let job, let outcome):
                if let waiter = underWay.removeValue(forKey: job) { actions.append(.complete(waiter, outcome)) }
            case .failed(let outcome):
                actions += waiting.map { .complete($0.waiter, outcome) }
                waiting = []
            }
        }
        return actions + dispatch()
    }

    /// Publishes waiting messages as far as the broker accepts them, or opens a connection.
    private mutating func dispatch() -> [Action] {
        guard !waiting.isEmpty else { return [] }
        guard let session else {
            connection += 1
            self.session = MQTTSession(broker)
            return [.open(connection)]
        }
        guard session.isReady else { return [] }
        let job = waiting.removeFirst()
        underWay[job.number] = job.waiter
        return run(connection) { $0.publish(job.message, as: job.number) }
    }
}

/// The outcomes for a broker's codes.
enum MQTTReason {
    /// Returns the outcome for a CONNACK that refuses, in 3.1.1 (section 3.2.2.3).
    static func refusal3(_ code: UInt8) -> Outcome {
        switch code {
        case 1: outcome(.misconfigured, code, "protocol-version")
        case 2: outcome(.misconfigured, code, "client-id-refused")
        case 4: outcome(.misconfigured, code, "bad-credentials")
        case 5: outcome(.misconfigured, code, "not-authorized")
        default: outcome(.retry, code, "server-unavailable")
        }
    }

    /// Returns the outcome for a CONNACK that refuses, in 5 (section 3.2.2.2).
    static func refusal5(_ code: UInt8) -> Outcome {
        switch code {
        case 0x84: outcome(.misconfigured, code, "protocol-version")
        case 0x85: outcome(.misconfigured, code, "client-id-refused")
        case 0x86, 0x8C: outcome(.misconfigured, code, "bad-credentials")
        case 0x87: outcome(.misconfigured, code, "not-authorized")
        case 0x8A: outcome(.misconfigured, code, "banned")
        case 0x9C, 0x9D: outcome(.misconfigured, code, "use-another-server")
        case 0x88: outcome(.retry, code, "server-unavailable")
        case 0x89: outcome(.retry, code, "server-busy")
        case 0x97: outcome(.retry, code, "quota-exceeded")
        case 0x9F: outcome(.retry, code, "connection-rate")
        default: outcome(.retry, code, "refused")
        }
    }

    /// Returns the outcome for a PUBACK, in 5 (section 3.4.2.1). Users choose the topic, so no code affects all
    /// messages, except the quota.
    static func acknowledgement(_ code: UInt8) -> Outcome {
        switch code {
        case 0: outcome(.delivered, code, "delivered")
        // The topic has no subscribers, not even offline ones.
        case 0x10: outcome(.delivered, code, "no-subscribers")
        case 0x80: Outcome(.retry, status: UInt32(code), reason: "refused", scope: .device)
        case 0x87: outcome(.rejected, code, "not-authorized")
        case 0x90: outcome(.rejected, code, "topic-refused")
        case 0x91: Outcome(.retry, status: UInt32(code), reason: "packet-id-in-use", scope: .device)
        case 0x97: outcome(.retry, code, "quota-exceeded")
        case 0x99: outcome(.rejected, code, "payload-refused")
        default: outcome(.rejected, code, "refused")
        }
    }

    /// Returns the outcome for a DISCONNECT, in 5 (section 3.14.2.1), for all messages in flight.
    static func disconnection(_ code: UInt8) -> Outcome {
        switch code {
        case 0x89: outcome(.retry, code, "server-busy")
        case 0x8B: outcome(.retry, code, "server-leaving")
        case 0x8D: outcome(.retry, code, "keep-alive")
        case 0x8E: outcome(.retry, code, "session-taken-over")
        case 0x96: outcome(.retry, code, "message-rate")
        case 0x97: outcome(.retry, code, "quota-exceeded")
        default: outcome(.retry, code, "disconnected")
        }
    }

    private static func outcome(_ kind: Outcome.Kind, _ code: UInt8, _ reason: String) -> Outcome {
        Outcome(kind, status: UInt32(code), reason: reason, scope: kind == .retry ? .transport : .usual)
    }
}
