import PluginKit

/// The connections to a mail server and the messages that wait for one: a pure state machine.
struct SMTPPool<Waiter: Sendable>: Sendable {
    enum Action: Sendable {
        /// Open a connection with this number, and report its events.
        case open(Int)
        case write(Int, [UInt8])
        case startTLS(Int)
        case close(Int)
        case complete(Waiter, Outcome)
    }

    struct Job: Sendable {
        let waiter: Waiter
        let mail: OutgoingMail
        /// Whether a connection was closed before it sent the message.
        var isSecondAttempt = false
    }

    /// The maximum number of waiting messages.
    static var waiterLimit: Int { 1024 }

    private struct Connection: Sendable {
        var session: SMTPSession
        var job: Job?

        var isFree: Bool { job == nil && session.isReady }
    }

    private let server: MailServer
    private let limit: Int
    private var connections: [Int: Connection] = [:]
    private var waiting: [Job] = []
    private var lastNumber = 0
    /// Whether the server refused an additional connection. For a while there is then only one at a time.
    private var isCrowded = false

    init(_ server: MailServer, connections limit: Int) {
        self.server = server
        self.limit = limit
    }

    /// Accepts a message, or returns nil if the queue is full.
    mutating func deliver(_ mail: OutgoingMail, for waiter: Waiter) -> [Action]? {
        guard waiting.count < Self.waiterLimit else { return nil }
        waiting.append(Job(waiter: waiter, mail: mail))
        return dispatch()
    }

    mutating func opened(_ number: Int) -> [Action] { run(number) { $0.opened() } }

    mutating func received(_ bytes: [UInt8], on number: Int) -> [Action] { run(number) { $0.received(bytes) } }

    /// Handles a connection that ended or could not be opened.
    mutating func closed(_ number: Int, _ reason: String) -> [Action] {
        let actions = run(number) { $0.closed(reason) }
        connections[number] = nil
        if connections.isEmpty { isCrowded = false }
        return actions + dispatch()
    }

    /// Removes the first waiter that matches; nil if there is none.
    mutating func withdraw(where matches: (Waiter) -> Bool) -> Waiter? {
        waiting.firstIndex { matches($0.waiter) }.map { waiting.remove(at: $0).waiter }
    }

    private mutating func run(_ number: Int, _ body: (inout SMTPSession) -> [SMTPSession.Action]) -> [Action] {
        guard var connection = connections[number] else { return [] }
        let steps = body(&connection.session)
        connections[number] = connection
        return steps.flatMap { follow($0, number) }
    }

    private mutating func follow(_ action: SMTPSession.Action, _ number: Int) -> [Action] {
        switch action {
        case .write(let bytes): return [.write(number, bytes)]
        case .startTLS: return [.startTLS(number)]
        case .close: return [.close(number)]
        case .ready: return dispatch()
        case .finished(let outcome): return take(number).map { [.complete($0.waiter, outcome)] } ?? []
        case .unsent:
            guard var job = take(number) else { return [] }
            guard !job.isSecondAttempt else {
                return [.complete(job.waiter, Outcome(.retry, reason: "closed", scope: .transport))]
            }
            job.isSecondAttempt = true
            waiting.insert(job, at: 0)
            return dispatch()
        case .failed(let outcome):
            // Another connection may send them.
            guard live.isEmpty else {
                isCrowded = true
                return []
            }
            defer { waiting = [] }
            return waiting.map { .complete($0.waiter, outcome) }
        }
    }

    private mutating func take(_ number: Int) -> Job? {
        defer { connections[number]?.job = nil }
        return connections[number]?.job
    }

    /// Assigns waiting messages to ready connections, and opens connections for the rest.
    private mutating func dispatch() -> [Action] {
        var actions: [Action] = []
        while let number = connections.filter({ $0.value.isFree }).keys.min(), !waiting.isEmpty {
            let job = waiting.removeFirst()
            connections[number]?.job = job
            actions += run(number) { $0.send(job.mail) }
        }
        while waiting.count > live.count(where: { $0.job == nil }), live.count < (isCrowded ? 1 : limit) {
            lastNumber += 1
            connections[lastNumber] = Connection(session: SMTPSession(server))
            actions.append(.open(lastNumber))
        }
        return actions
    }

    private var live: [Connection] { connections.values.filter { !$0.session.isOver } }
}
