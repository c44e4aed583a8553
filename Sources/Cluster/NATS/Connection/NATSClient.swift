import Core
import Glibc
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import RouterConfiguration
import Synchronization

/// A client of a cluster of NATS servers: publishes, subscribes and sends requests, over one connection that reconnects
/// automatically.
///
/// It performs the actions of ``ConnectionState``. All functions may be called from any thread; handlers and
/// completions run on the client's event loop and must not block it. The client buffers no requests: without a
/// connection a request fails immediately, and one whose connection is lost fails as one that may have happened.
final class NATSClient: Sendable {
    typealias Handler = @Sendable (NATSMessage) -> Void

    /// A subscription. It ends with ``end()`` or when it is released.
    final class Subscription: Sendable {
        private let client: NATSClient
        fileprivate let number: Int

        fileprivate init(_ client: NATSClient, _ number: Int) {
            self.client = client
            self.number = number
        }

        deinit { end() }

        func end() { client.unsubscribe(number) }
    }

    /// A change of the connection.
    enum Event: Sendable {
        case connected(ServerInfo)
        case disconnected(String)
    }

    /// The maximum of unsent bytes.
    private static let maxUnsent = 64 << 20

    private struct Shell {
        var state: ConnectionState
        var requests = OpenRequests()
        var handlers: [Int: Handler] = [:]
        var isClosed = false
        /// The open connection and its attempt; nil: not connected.
        var connection: (channel: any Channel, attempt: Int)?
        var alarm: (at: Deadline, task: Scheduled<Void>)?
        var lines = RepeatedLines()
    }

    private let settings: NATSSettings
    private let loop: any EventLoop
    private let tls: NIOSSLContext
    private let log: Logger
    private let inbox: String
    /// The subscription of the inbox, which receives responses.
    private let answers: Int
    private let observe: @Sendable (Event) -> Void
    private let shell: Mutex<Shell>

    /// Creates a client that connects on ``start()``. `loop` runs the connection, and must outlive the client. `random`
    /// shuffles the servers, and names the inbox. `observe` is called on the event loop when the connection works, and
    /// when it no longer does. Throws `NIOSSLError` if the certificates cannot be used.
    init(
        _ settings: NATSSettings,
        loop: any EventLoop,
        random: inout some RandomNumberGenerator,
        log: Logger,
        observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) throws {
        self.settings = settings
        self.loop = loop
        self.log = log
        self.observe = observe
        tls = try NIOSSLContext(configuration: settings.tls ?? .makeClientConfiguration())
        inbox = "_INBOX.\(String(UInt64.random(in: .min ... .max, using: &random), radix: 36))"
        var state = ConnectionState(settings, random: &random)
        let (number, _) = state.subscribe("\(inbox).*", queue: nil)
        answers = number
        shell = Mutex(Shell(state: state))
    }

    func start() { change { state, now in state.start(now: now) } }

    /// Closes the connection. Requests without a response fail.
    func close() {
        let open = shell.withLock { shell in
            shell.isClosed = true
            shell.handlers = [:]
            return shell.requests.takeAll()
        }
        change { state, _ in state.stop() }
        for completion in open { completion(.failure(.closed)) }
    }

    var isConnected: Bool { shell.withLock(\.state.isReady) }

    // MARK: Publishing and subscribing

    /// Sends a message. Its delivery is not confirmed.
    func publish(
        _ subject: String,
        _ payload: [UInt8],
        headers: NATSHeaders = [:],
        replyTo: String? = nil
    ) throws(NATSError) {
        let actions = try shell.withLock { shell throws(NATSError) in
            guard !shell.isClosed else { throw .closed }
            return try shell.state.publish(subject, replyTo: replyTo, headers: headers, payload)
        }
        carryOut(actions)
    }

    /// Passes each message of a subject to `handler`, on this and all later connections. With a `queue`, only one
    /// subscriber of that name gets each message.
    func subscribe(
        _ subject: String,
        queue: String? = nil,
        _ handler: @escaping Handler
    ) throws(NATSError) -> Subscription {
        guard NATSCommand.isSubject(subject, wildcards: true), queue.map({ NATSCommand.isSubject($0) }) ?? true
        else { throw .invalidSubject }
        let (number, actions) = shell.withLock { shell in
            let (number, actions) = shell.state.subscribe(subject, queue: queue)
            shell.handlers[number] = handler
            return (number, actions)
        }
        carryOut(actions)
        return Subscription(self, number)
    }

    private func unsubscribe(_ number: Int) {
        let actions = shell.withLock { shell in
            shell.handlers[number] = nil
            return shell.state.unsubscribe(number)
        }
        carryOut(actions)
    }

    // MARK: Requests

    /// Sends a request. Calls `completion` once, with the response or an error.
    func request(
        _ subject: String,
        _ payload: [UInt8],
        headers: NATSHeaders = [:],
        within span: Duration,
        then completion: @escaping @Sendable (Result<NATSMessage, NATSError>) -> Void
    ) {
        do throws(NATSError) {
            let actions = try shell.withLock { shell throws(NATSError) in
                guard !shell.isClosed else { throw .closed }
                let number = shell.requests.add(deadline: loop.time + span, completion)
                do throws(NATSError) {
                    return try shell.state.publish(subject, replyTo: "\(inbox).\(number)", headers: headers, payload)
                } catch {
                    _ = shell.requests.take(number)
                    throw error
                }
            }
            carryOut(actions)
        } catch {
            completion(.failure(error))
        }
    }

    /// Sends a request and returns the response.
    func request(
        _ subject: String,
        _ payload: [UInt8],
        headers: NATSHeaders = [:],
        within span: Duration
    ) async throws(NATSError) -> NATSMessage {
        try await withCheckedContinuation { continuation in
            request(subject, payload, headers: headers, within: span) { continuation.resume(returning: $0) }
        }.get()
    }

    private func answer(_ message: NATSMessage) {
        guard let number = message.subject.split(separator: ".").last.flatMap({ UInt64($0) }),
            let completion = shell.withLock({ $0.requests.take(number) })
        else { return }
        let isUnheard = message.headers.status == 503 && message.payload.isEmpty
        completion(isUnheard ? .failure(.noResponders) : .success(message))
    }

    // MARK: Performing actions

    private func change(_ body: @escaping @Sendable (inout ConnectionState, Deadline) -> [ConnectionState.Action]) {
        let now = loop.time
        carryOut(shell.withLock { body(&$0.state, now) })
    }

    /// Performs actions in order: immediately if called on the loop, otherwise when the loop runs next.
    private func carryOut(_ actions: [ConnectionState.Action]) {
        guard loop.inEventLoop else { return loop.execute { self.perform(actions) } }
        perform(actions)
    }

    private func perform(_ actions: [ConnectionState.Action]) {
        for action in actions { perform(action) }
        schedule()
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .dial(let server, let attempt): dial(server, attempt)
        case .startTLS(let server): secure(server)
        case .send(let bytes, let attempt):
            guard let connection, connection.attempt == attempt else { return }
            let waiting = try? connection.channel.syncOptions?.getOption(.bufferedWritableBytes)
            guard waiting ?? 0 <= Self.maxUnsent else { return closed(attempt, "does not read what it is sent") }
            connection.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        case .pong(let attempt):
            guard let connection, connection.attempt == attempt, connection.channel.isWritable else { return }
            connection.channel.writeAndFlush(ByteBuffer(bytes: NATSCommand.pong), promise: nil)
        case .hangUp:
            let old = connection
            shell.withLock { $0.connection = nil }
            old?.channel.close(promise: nil)
        case .deliver(let message, answers): answer(message)
        case .deliver(let message, let subscription):
            shell.withLock { $0.handlers[subscription] }?(message)
        case .connected(let info):
            logSeldom(
                .info,
                "Connected to NATS",
                ["server": (info.name ?? "").excerpt, "version": info.version.excerpt]
            )
            observe(.connected(info))
        case .disconnected(let reason, let server):
            logSeldom(.warning, "No connection to NATS", ["server": "\(server)", "reason": reason])
            for completion in shell.withLock({ $0.requests.takeAll() }) { completion(.failure(.lost)) }
            observe(.disconnected(reason))
        case .complaint(let words, let unsaid):
            log.warning("NATS reported an error", metadata: ["words": "\(words)", "unsaid": "\(unsaid)"])
        }
    }

    /// Logs at a limited rate, because a client without servers retries every few seconds.
    private func logSeldom(_ level: Logger.Level, _ message: Logger.Message, _ details: [String: String]) {
        let line = "\(message) \(details.sorted { $0.key < $1.key })"
        let now = loop.time
        guard let unsaid = shell.withLock({ $0.lines.admit(line, now: now) }) else { return }
        var metadata = details.mapValues { Logger.MetadataValue.string($0) }
        if unsaid > 0 { metadata["unsaid"] = "\(unsaid)" }
        log.log(level: level, message, metadata: metadata)
    }

    private var connection: (channel: any Channel, attempt: Int)? { shell.withLock(\.connection) }

    private func schedule() {
        let due = shell.withLock { [$0.state.nextDeadline, $0.requests.nextDeadline].compactMap(\.self).min() }
        let old = shell.withLock(\.alarm)
        if let old, let due, old.at <= due { return }
        old?.task.cancel()
        let alarm = due.map { due in
            let wait = TimeAmount.milliseconds((due - loop.time).milliseconds)
            return (due, loop.scheduleTask(in: wait) { [weak self] () -> Void in self?.ring() })
        }
        shell.withLock { $0.alarm = alarm }
    }

    private func ring() {
        let now = loop.time
        let (actions, late) = shell.withLock { shell in
            shell.alarm = nil
            return (shell.state.tick(now: now), shell.requests.takeLate(now: now))
        }
        for completion in late { completion(.failure(.late)) }
        carryOut(actions)
    }

    // MARK: The connection

    private func dial(_ server: NATSServer, _ attempt: Int) {
        ClientBootstrap(group: loop)
            .connectTimeout(.seconds(3))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { [weak self] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let self else { throw NATSError.closed }
                    try channel.pipeline.syncOperations.addHandler(NATSChannelHandler(self, attempt))
                }
            }
            .connect(host: server.host, port: server.port)
            .whenComplete { [weak self] result in
                guard let self else { return }
                switch result {
                case .success(let channel): opened(channel, attempt)
                case .failure(let error): closed(attempt, "cannot be reached: \(Self.words(for: error))")
                }
            }
    }

    /// The reason why a connection failed.
    fileprivate static func words(for error: any Error) -> String {
        switch error {
        case ChannelError.connectTimeout: return "it does not answer"
        case let error as IOError: return String(cString: strerror(error.errnoCode))
        case let error as NIOConnectionError:
            guard let first = error.connectionErrors.first else { return "the name of its host is not known" }
            return words(for: first.error)
        default: return "\(error)"
        }
    }

    private func opened(_ channel: any Channel, _ attempt: Int) {
        let now = loop.time
        let (isWanted, actions) = shell.withLock { shell in
            let isWanted = shell.state.isAwaiting(attempt)
            if isWanted { shell.connection = (channel, attempt) }
            return (isWanted, shell.state.connected(attempt: attempt, now: now))
        }
        guard isWanted else { return channel.close(promise: nil) }
        carryOut(actions)
    }

    private func secure(_ server: NATSServer) {
        guard let connection else { return }
        do {
            let isAddress = (try? SocketAddress(ipAddress: server.host, port: 0)) != nil
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : server.host)
            try connection.channel.pipeline.syncOperations.addHandler(handler, position: .first)
        } catch {
            closed(connection.attempt, "cannot be secured: \(error)")
        }
    }

    fileprivate func received(_ buffer: ByteBuffer, _ attempt: Int) {
        change { state, now in state.received(buffer.readableBytesView, attempt: attempt, now: now) }
    }

    fileprivate func secured(_ attempt: Int) {
        change { state, now in state.secured(attempt: attempt, now: now) }
    }

    fileprivate func closed(_ attempt: Int, _ reason: String) {
        change { state, now in state.closed(attempt: attempt, reason, now: now) }
    }
}

/// The last handler of the channel of one attempt.
private final class NATSChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private weak var client: NATSClient?
    private let attempt: Int
    private var reason = "closed the connection"

    init(_ client: NATSClient, _ attempt: Int) {
        self.client = client
        self.attempt = attempt
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { client?.received(unwrapInboundIn(data), attempt) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { client?.secured(attempt) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let isOfTLS = error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
        reason = isOfTLS ? "cannot be secured: \(error)" : "cannot be reached: \(NATSClient.words(for: error))"
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { client?.closed(attempt, reason) }
}

extension EventLoop {
    /// The current time, by the clock of all its timers.
    fileprivate var time: Deadline { Deadline(milliseconds: Int64(now.uptimeNanoseconds / 1_000_000)) }
}
