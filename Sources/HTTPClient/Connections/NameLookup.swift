import Core
import DequeModule
import Dispatch
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Resolves `host` and calls `completion` once, on any thread. It gets no addresses if the look-up failed, or if
/// `isWanted` returns false before the start.
typealias NameLookup =
    @Sendable (
        _ host: String,
        _ port: Int,
        _ isWanted: @escaping @Sendable () -> Bool,
        _ completion: @escaping @Sendable ([SocketAddress]) -> Void
    ) -> Void

/// Resolves names for connections. Users may choose names whose servers never respond, so their look-ups are separate
/// from the operator's.
package struct NameLookups: Sendable {
    var operators: NameLookup
    var users: NameLookup

    package init() { self.init(operators: ThreadedLookup().lookUp, users: ThreadedLookup().lookUp) }

    init(operators: @escaping NameLookup, users: @escaping NameLookup) {
        self.operators = operators
        self.users = users
    }
}

/// Resolves each name on its own thread, so that a name whose servers never respond delays no other (``LookupQueue``).
/// Concurrent look-ups of the same name share one result.
final class ThreadedLookup: Sendable {
    typealias Completion = @Sendable ([SocketAddress]) -> Void

    private struct State {
        var queue: LookupQueue
        /// When to check the queue again if no name is added or completes.
        var timer: Deadline?
    }

    /// The maximum of concurrent look-ups.
    static let limit = 1_024
    private static let timers = DispatchQueue(label: "carillon.name-lookups")

    private let state: Mutex<State>
    private let resolve: @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    /// `resolve` may block.
    init(resolve: @escaping @Sendable (_ host: String, _ port: Int) -> [SocketAddress] = SystemNames.lookUp) {
        state = Mutex(State(queue: LookupQueue(limit: Self.limit)))
        self.resolve = resolve
    }

    func lookUp(
        _ host: String,
        _ port: Int,
        _ isWanted: @escaping @Sendable () -> Bool,
        _ completion: @escaping Completion
    ) {
        let request = LookupQueue.Request(isWanted: isWanted, completion: completion)
        let dropped = state.withLock { $0.queue.append(request, for: .init(host: host, port: port)) }
        for request in dropped { request.completion([]) }
        begin()
    }

    /// Starts all look-ups that may start now, and schedules a check for the rest.
    private func begin() {
        while true {
            let (name, unwanted) = state.withLock { $0.queue.next(now: .now()) }
            for request in unwanted { request.completion([]) }
            guard let name else { break }
            let work: @Sendable () -> Void = { self.end(name, self.resolve(name.host, name.port)) }
            if !DetachedThread.run(work) { end(name, []) }
        }
        let start: Deadline? = state.withLock { state in
            guard let start = state.queue.nextStart, start < state.timer ?? .distantFuture else { return nil }
            state.timer = start
            return start
        }
        guard let start else { return }
        let wait = max(.milliseconds(1), start - .now())
        Self.timers.asyncAfter(deadline: .now() + .milliseconds(Int(wait.milliseconds))) {
            self.state.withLock { $0.timer = nil }
            self.begin()
        }
    }

    private func end(_ name: LookupQueue.Name, _ addresses: [SocketAddress]) {
        let requests = state.withLock { $0.queue.ended(name, now: .now()) }
        for request in requests { request.completion(addresses) }
        begin()
    }
}

/// The system's resolver.
enum SystemNames {
    /// Every address of `host` once. Blocks until the name servers respond.
    static func lookUp(_ host: String, port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        // getaddrinfo returns each address once per socket type.
        var seen: Set<IPAddress> = []
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap { entry in
            guard let entry, let address = entry.pointee.ai_addr,
                let ip = IPAddress(address, length: Int(entry.pointee.ai_addrlen)), seen.insert(ip).inserted
            else { return nil }
            let bytes = UnsafeRawPointer(address)
            return switch ip {
            case .v4: SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self), host: host)
            case .v6: SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self), host: host)
            }
        }
    }
}

/// Decides which name is looked up next, and when. The caller supplies the time.
///
/// A look-up cannot be cancelled, and users choose names whose servers never respond. So the newest name goes first.
/// Above a number of concurrent look-ups, more start at a steady pace: even if hundreds hang, the next one starts
/// within ``pace``.
struct LookupQueue {
    struct Name: Hashable {
        var host: String
        var port: Int
    }

    struct Request {
        let isWanted: @Sendable () -> Bool
        let completion: ThreadedLookup.Completion
    }

    /// The time between two paced look-ups. With ``ThreadedLookup/limit`` it takes longer to use up all threads than
    /// the system's resolver waits for name servers (30 s with three).
    static let pace: Duration = .milliseconds(60)
    /// A look-up faster than this lets the next one start immediately.
    private static let quick: Duration = .milliseconds(250)
    /// The maximum of waiting names; above it the oldest fails as not found.
    private static let waitingLimit = 8_192

    private let limit: Int
    private let unpaced: Int
    private var requests: [Name: [Request]] = [:]
    private var running: [Name: Deadline] = [:]
    /// The newest last.
    private var waiting: Deque<Name> = []
    private var pacedUntil: Deadline = .distantPast

    /// `limit` is the maximum of concurrent look-ups; a quarter of them are not paced.
    init(limit: Int) {
        self.limit = limit
        unpaced = max(1, limit / 4)
    }

    /// When ``next(now:)`` may return a name; nil until another look-up ends or another name is added.
    var nextStart: Deadline? {
        guard !waiting.isEmpty, running.count < limit else { return nil }
        return running.count < unpaced ? .distantPast : pacedUntil
    }

    /// Adds a request. Returns the requests that it evicts: they fail as not found.
    mutating func append(_ request: Request, for name: Name) -> [Request] {
        guard requests[name] == nil else {
            requests[name]?.append(request)
            return []
        }
        requests[name] = [request]
        waiting.append(name)
        guard waiting.count > Self.waitingLimit, let oldest = waiting.popFirst() else { return [] }
        return requests.removeValue(forKey: oldest) ?? []
    }

    /// The name to look up now, if any, and requests that are no longer wanted, whose name is not looked up.
    mutating func next(now: Deadline) -> (name: Name?, unwanted: [Request]) {
        var unwanted: [Request] = []
        while let start = nextStart, start <= now, let name = waiting.popLast() {
            guard requests[name]?.contains(where: { $0.isWanted() }) == true else {
                unwanted += requests.removeValue(forKey: name) ?? []
                continue
            }
            if running.count >= unpaced { pacedUntil = now + Self.pace }
            running[name] = now
            return (name, unwanted)
        }
        return (nil, unwanted)
    }

    /// Notes that a look-up ended. Returns the requests that wait for its result.
    mutating func ended(_ name: Name, now: Deadline) -> [Request] {
        if let start = running.removeValue(forKey: name), now - start < Self.quick { pacedUntil = .distantPast }
        return requests.removeValue(forKey: name) ?? []
    }
}

/// Runs work on a detached thread.
enum DetachedThread {
    private final class Work {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs `work` on a new thread. Returns false without any effect if the system has no thread left.
    static func run(_ work: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            &attributes,
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            },
            work.toOpaque()
        )
        if code != 0 { work.release() }
        return code == 0
    }
}

/// Resolves a name once and returns only permitted addresses.
///
/// `@unchecked Sendable`: the promises are Sendable and `isStarted` is touched only on the loop.
package final class GuardedResolver: Resolver, @unchecked Sendable {
    private let addressGuard: AddressGuard?
    private let lookUp: NameLookup
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private var isStarted = false
    private let isGivenUp = Atomic(false)

    /// A resolver serves one connection. Without a guard every address is permitted. Look-ups block `threads`, so names
    /// that may be slow on purpose need separate threads.
    package convenience init(
        loop: any EventLoop,
        addressGuard: AddressGuard?,
        threads: NIOThreadPool = .singleton
    ) {
        self.init(loop: loop, addressGuard: addressGuard) { host, port, isWanted, completion in
            threads.submit { state in
                // A pool that is shut down passes another state.
                completion(state == .active && isWanted() ? SystemNames.lookUp(host, port: port) : [])
            }
        }
    }

    /// The same with a custom name look-up.
    init(loop: any EventLoop, addressGuard: AddressGuard?, lookUp: @escaping NameLookup) {
        self.addressGuard = addressGuard
        self.lookUp = lookUp
        v4 = loop.makePromise()
        v6 = loop.makePromise()
    }

    package func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        start(host: host, port: port)
        return v4.futureResult
    }

    package func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        start(host: host, port: port)
        return v6.futureResult
    }

    /// Skips a look-up that has not started, so that it does not delay others.
    package func cancelQueries() {
        isGivenUp.store(true, ordering: .relaxed)
    }

    private func start(host: String, port: Int) {
        guard !isStarted else { return }
        isStarted = true
        lookUp(host, port, { !self.isGivenUp.load(ordering: .relaxed) }, { self.answer($0) })
    }

    private func answer(_ found: [SocketAddress]) {
        let permitted = found.filter { addressGuard?.permits($0) ?? true }
        guard !permitted.isEmpty else {
            let reason = found.isEmpty ? HTTPError.Reason.unresolved : .forbiddenAddress
            let failure = HTTPError(reason, mayHaveBeenProcessed: false)
            v4.fail(failure)
            v6.fail(failure)
            return
        }
        v6.succeed(permitted.filter { $0.protocol == .inet6 })
        v4.succeed(permitted.filter { $0.protocol == .inet })
    }
}

extension AddressGuard {
    fileprivate func permits(_ address: SocketAddress) -> Bool {
        let ip = address.withSockAddr { IPAddress($0, length: $1) }
        return ip.map { permits($0) } ?? false
    }
}
