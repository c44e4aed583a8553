import Core
import RouterConfiguration

/// A client's connection to one of several NATS servers, re-established whenever it is lost. A pure state machine: the
/// caller performs the actions.
///
/// It tries each server for a few seconds, and waits after a failed round, longer each time. A working connection sends
/// a ping every interval, and closes if no data came since the last but one: the client must leave an unreachable
/// server before its leases expire.
struct ConnectionState: Sendable {
    enum Action: Sendable {
        /// Connect. All events of the connection carry this attempt's number.
        case dial(NATSServer, attempt: Int)
        case startTLS(NATSServer)
        /// Send on the connection of this attempt, if it still exists.
        case send([UInt8], attempt: Int)
        /// Send a pong. It may be omitted while an earlier one is queued because the server reads no data.
        case pong(attempt: Int)
        /// Close the connection, if there is one.
        case hangUp
        case deliver(NATSMessage, subscription: Int)
        /// Commands may be sent from now on.
        case connected(ServerInfo)
        /// The connection to this server was lost or could not be made.
        case disconnected(String, NATSServer)
        /// The server reported an error and stays connected. `unsaid` is the number of unlogged errors since the last
        /// logged one.
        case complaint(String, unsaid: Int)
    }

    private enum Phase {
        case resting
        /// No connection is attempted before this time.
        case waiting(until: Deadline)
        /// The stages of connecting, with their timeouts: TCP, the server's greeting, TLS, authentication.
        case dialing(until: Deadline)
        case greeting(until: Deadline)
        case securing(until: Deadline)
        case introducing(until: Deadline)
        case ready
    }

    private struct Subscription {
        let subject: String
        let queue: String?
    }

    private static let timeout: Duration = .seconds(4)
    private static let firstPause: Duration = .milliseconds(100)
    private static let longestPause: Duration = .seconds(2)
    private static let pingInterval: Duration = .milliseconds(500)
    private static let maxServers = 64
    /// The minimum time between two log lines: a server may report an error for each message.
    private static let complaintInterval: Duration = .minutes(1)

    private let settings: NATSSettings
    private var servers: [NATSServer]
    /// The index of the server that is in use or being tried.
    private var current = 0
    /// The number of failures since the last working connection.
    private var failures = 0
    private var pause = Self.firstPause
    private var attempt = 0
    private var complaint: (saidAt: Deadline, unsaid: Int)?
    private var phase = Phase.resting
    private var info: ServerInfo?
    private var subscriptions: [Int: Subscription] = [:]
    private var lastSubscription = 0
    private var parser = MessageParser()
    private var pingAt = Deadline.distantFuture
    private var unanswered = 0

    /// Shuffles the servers once, so that clients spread over them.
    init(_ settings: NATSSettings, random: inout some RandomNumberGenerator) {
        self.settings = settings
        servers = settings.servers.shuffled(using: &random)
    }

    var isReady: Bool { if case .ready = phase { true } else { false } }

    /// When to call ``tick(now:)`` next.
    var nextDeadline: Deadline? {
        switch phase {
        case .resting: nil
        case .waiting(let until), .dialing(let until), .greeting(let until), .securing(let until),
            .introducing(let until):
            until
        case .ready: pingAt
        }
    }

    /// Whether the connection of `attempt` is still being opened.
    func isAwaiting(_ attempt: Int) -> Bool {
        if case .dialing = phase { attempt == self.attempt } else { false }
    }

    private func send(_ bytes: [UInt8]) -> Action { .send(bytes, attempt: attempt) }

    // MARK: Commands

    mutating func start(now: Deadline) -> [Action] {
        guard case .resting = phase, !servers.isEmpty else { return [] }
        return dial(now: now)
    }

    mutating func stop() -> [Action] {
        phase = .resting
        attempt += 1
        return [.hangUp]
    }

    /// Adds a subscription, which lasts over all connections. Returns its number.
    mutating func subscribe(_ subject: String, queue: String?) -> (number: Int, actions: [Action]) {
        lastSubscription += 1
        subscriptions[lastSubscription] = Subscription(subject: subject, queue: queue)
        guard isReady else { return (lastSubscription, []) }
        return (lastSubscription, [send(NATSCommand.subscribe(subject, queue: queue, number: lastSubscription))])
    }

    mutating func unsubscribe(_ number: Int) -> [Action] {
        guard subscriptions.removeValue(forKey: number) != nil, isReady else { return [] }
        return [send(NATSCommand.unsubscribe(number))]
    }

    func publish(
        _ subject: String,
        replyTo: String?,
        headers: NATSHeaders,
        _ payload: [UInt8]
    ) throws(NATSError) -> [Action] {
        guard isReady, let info else { throw .disconnected }
        guard NATSCommand.isSubject(subject) else { throw .invalidSubject }
        guard payload.count <= info.maxPayload else { throw .tooLong(payload.count, limit: info.maxPayload) }
        return [send(try NATSCommand.publish(subject, replyTo: replyTo, headers: headers, payload))]
    }

    // MARK: Events

    mutating func connected(attempt: Int, now: Deadline) -> [Action] {
        guard attempt == self.attempt, case .dialing = phase else { return [] }
        guard servers[current].securesFirst else {
            phase = .greeting(until: now + Self.timeout)
            return []
        }
        phase = .securing(until: now + Self.timeout)
        return [.startTLS(servers[current])]
    }

    mutating func secured(attempt: Int, now: Deadline) -> [Action] {
        guard attempt == self.attempt, case .securing = phase else { return [] }
        guard let info else {
            phase = .greeting(until: now + Self.timeout)
            return []
        }
        return introduce(to: info, isSecured: true, now: now)
    }

    mutating func received(_ bytes: some Sequence<UInt8>, attempt: Int, now: Deadline) -> [Action] {
        guard attempt == self.attempt else { return [] }
        unanswered = 0
        parser.append(bytes)
        var actions: [Action] = []
        do throws(NATSError) {
            var isPinged = false
            while attempt == self.attempt, let message = try parser.next() {
                if case .ping = message { isPinged = true }
                actions += handle(message, now: now)
            }
            // Pings check only that the client responds: one pong answers all that came together.
            if isPinged, attempt == self.attempt { actions.append(.pong(attempt: attempt)) }
        } catch {
            actions += fail("\(error)", now: now)
        }
        return actions
    }

    /// The connection failed or was lost.
    mutating func closed(attempt: Int, _ reason: String, now: Deadline) -> [Action] {
        guard attempt == self.attempt else { return [] }
        return fail(reason, now: now)
    }

    mutating func tick(now: Deadline) -> [Action] {
        guard let deadline = nextDeadline, now >= deadline else { return [] }
        switch phase {
        case .resting: return []
        case .waiting: return dial(now: now)
        case .dialing, .greeting, .securing, .introducing: return fail("did not answer in time", now: now)
        case .ready:
            guard unanswered < 2 else { return fail("no longer responds", now: now) }
            unanswered += 1
            pingAt = now + Self.pingInterval
            return [send(NATSCommand.ping)]
        }
    }

    // MARK: Connecting

    private mutating func dial(now: Deadline) -> [Action] {
        attempt += 1
        parser = MessageParser()
        info = nil
        phase = .dialing(until: now + Self.timeout)
        return [.dial(servers[current], attempt: attempt)]
    }

    private mutating func introduce(to info: ServerInfo, isSecured: Bool, now: Deadline) -> [Action] {
        if let oldest = settings.oldestVersion, !info.isAtLeast(oldest.major, oldest.minor) {
            let needed = "\(oldest.major).\(oldest.minor)"
            return fail("is version \(info.version.excerpt), and \(needed) or newer is needed", now: now)
        }
        guard info.headers == true else { return fail("does not know headers", now: now) }
        var connect = NATSCommand.Connect(tlsRequired: isSecured, name: settings.name)
        do throws(NATSError) {
            try settings.credentials.fill(&connect, nonce: info.nonce)
            phase = .introducing(until: now + Self.timeout)
            return [send(try NATSCommand.connect(connect) + NATSCommand.ping)]
        } catch {
            return fail("\(error)", now: now)
        }
    }

    private mutating func handle(_ message: ServerMessage, now: Deadline) -> [Action] {
        switch message {
        case .info(let info): greeted(info, now: now)
        case .pong: answered(now: now)
        case .ping, .ok: []
        case .message(let message, let subscription):
            subscriptions[subscription] == nil ? [] : [.deliver(message, subscription: subscription)]
        case .error(let words): complained(words, now: now)
        }
    }

    private mutating func greeted(_ info: ServerInfo, now: Deadline) -> [Action] {
        self.info = info
        learn(info.connectURLs ?? [])
        guard case .greeting = phase else {
            // The server is about to stop. By now it has named the others.
            guard isReady, info.lameDuckMode == true, servers.count > 1 else { return [] }
            return fail("is about to stop", now: now)
        }
        let server = servers[current]
        guard server.wantsTLS || info.tlsRequired == true, !server.securesFirst else {
            return introduce(to: info, isSecured: server.securesFirst, now: now)
        }
        guard info.tlsRequired == true || info.tlsAvailable == true else {
            return fail("does not offer TLS", now: now)
        }
        phase = .securing(until: now + Self.timeout)
        return [.startTLS(server)]
    }

    private mutating func answered(now: Deadline) -> [Action] {
        guard case .introducing = phase, let info else { return [] }
        phase = .ready
        failures = 0
        pause = Self.firstPause
        pingAt = now + Self.pingInterval
        let resumed = subscriptions.sorted { $0.key < $1.key }.flatMap {
            NATSCommand.subscribe($0.value.subject, queue: $0.value.queue, number: $0.key)
        }
        return (resumed.isEmpty ? [] : [send(resumed)]) + [.connected(info)]
    }

    private mutating func complained(_ words: String, now: Deadline) -> [Action] {
        // The text from the first quote on names subjects.
        let short = words.prefix { $0 != "\"" }.trimmingSpace.excerpt
        guard isReady, short.lowercased().hasPrefix("permissions violation") else { return fail(short, now: now) }
        if let complaint, now - complaint.saidAt < Self.complaintInterval {
            self.complaint?.unsaid += 1
            return []
        }
        defer { complaint = (now, 0) }
        return [.complaint(short, unsaid: complaint?.unsaid ?? 0)]
    }

    /// Adds servers that a server named, if the settings allow it.
    private mutating func learn(_ addresses: [String]) {
        guard settings.followsDiscoveredServers else { return }
        for address in addresses where servers.count < Self.maxServers {
            guard var server = NATSServer(address) else { continue }
            server.inheritSecurity(of: servers[current])
            if !servers.contains(where: { $0.host == server.host && $0.port == server.port }) { servers.append(server) }
        }
    }

    private mutating func fail(_ reason: String, now: Deadline) -> [Action] {
        let wasReady = isReady
        attempt += 1
        unanswered = 0
        var actions: [Action] = [.hangUp, .disconnected(reason, servers[current])]
        current = (current + 1) % servers.count
        failures += 1
        if wasReady || failures % servers.count != 0 {
            actions += dial(now: now)
        } else {
            phase = .waiting(until: now + pause)
            pause = min(pause * 2, Self.longestPause)
        }
        return actions
    }
}

extension Substring {
    fileprivate var trimmingSpace: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

/// The requests without a response. Each is completed exactly once.
struct OpenRequests: Sendable {
    typealias Completion = @Sendable (Result<NATSMessage, NATSError>) -> Void

    private struct Request {
        let deadline: Deadline
        let completion: Completion
    }

    private var last: UInt64 = 0
    private var open: [UInt64: Request] = [:]

    /// Adds a request and returns its number.
    mutating func add(deadline: Deadline, _ completion: @escaping Completion) -> UInt64 {
        last += 1
        open[last] = Request(deadline: deadline, completion: completion)
        return last
    }

    /// Removes and returns a request's completion; nil: it was completed, or timed out.
    mutating func take(_ number: UInt64) -> Completion? { open.removeValue(forKey: number)?.completion }

    mutating func takeAll() -> [Completion] {
        defer { open = [:] }
        return open.sorted { $0.key < $1.key }.map(\.value.completion)
    }

    /// Removes and returns the completions of requests whose deadline has passed.
    mutating func takeLate(now: Deadline) -> [Completion] {
        let late = open.filter { $0.value.deadline <= now }
        for number in late.keys { open[number] = nil }
        return late.sorted { $0.key < $1.key }.map(\.value.completion)
    }

    var nextDeadline: Deadline? { open.values.lazy.map(\.deadline).min() }
}
