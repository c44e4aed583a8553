import PluginKit

/// The connection to a broker and the messages that wait for it: a pure state machine. The connection is made for the
/// first message, stays, and is made anew for the first message after its end; how long a broker that cannot be reached
/// is left alone is up to the router, which holds back all messages of the app.
struct MQTTClient<Waiter: Sendable>: Sendable {
    enum Action: Sendable {
        /// Open a connection of this number, and report what happens on it.
        case open(Int)
        case write(Int, [UInt8])
        case close(Int)
        /// Call ``pingDue(_:)`` this often until the connection ends.
        case startPings(Int, seconds: Int64)
        case complete(Waiter, Outcome)
    }

    private struct Job: Sendable {
        let number: Int
        let waiter: Waiter
        let message: MQTTMessage
    }

    /// How many may wait at a time.
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

    /// Nil: no more may wait.
    mutating func deliver(_ message: MQTTMessage, for waiter: Waiter) -> [Action]? {
        guard waiting.count < Self.waiterLimit else { return nil }
        lastJob += 1
        waiting.append(Job(number: lastJob, waiter: waiter, message: message))
        return dispatch()
    }

    mutating func opened(_ number: Int) -> [Action] { run(number) { $0.opened() } }

    mutating func received(_ bytes: [UInt8], on number: Int) -> [Action] { run(number) { $0.received(bytes) } }

    mutating func pingDue(_ number: Int) -> [Action] { run(number) { $0.pingDue() } }

    /// A connection has ended, or could not be opened.
    mutating func closed(_ number: Int, _ reason: String) -> [Action] {
        guard number == connection, session != nil else { return [] }
        let actions = run(number) { $0.closed(reason) }
        session = nil
        return actions + dispatch()
    }

    /// Gives up the first waiter that matches; nil if there is none. A message under way may arrive all the same.
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

    /// Publishes what waits as far as the broker takes it, or opens a connection for it.
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
