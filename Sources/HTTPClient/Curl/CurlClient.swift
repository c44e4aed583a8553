import CCurl
import Core
import NIOCore
import Synchronization

/// HTTP/1.1 and HTTP/2 with libcurl, for the many origins that get few requests. One dedicated thread runs all
/// transfers, which share connections.
final class CurlClient: Sendable {
    private struct State {
        var errand = CurlWorker.WorkItem()
        var outstanding = 0
        var hasEnded = false
        /// Callers that wait for the thread's end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// State shared with the client's thread, which outlives the client.
    private final class Shared: Sendable {
        let state: Mutex<State>
        /// Wakes the thread; nil once that has ended. Separate from the state, because the woken thread locks the state
        /// immediately and must not wait for the caller.
        private let waker: Mutex<CurlWaker?>

        init(_ state: State, _ waker: CurlWaker) {
            self.state = Mutex(state)
            self.waker = Mutex(waker)
        }

        func wake() { waker.withLock { $0?.wake() } }
        func dropWaker() { waker.withLock { $0 = nil } }
    }

    private let shared: Shared

    /// - Parameters:
    ///   - configuration: Roots, proxy, limits.
    ///   - addressGuard: For users' URLs.
    ///   - names: Resolves hosts; nil: libcurl or a proxy does.
    ///   - roots: Trusted roots; nil: libcurl reads its own.
    ///   - scope: The scope whose requests share connections; requests of others get one each.
    /// - Throws: `HTTPLanesError.noLibcurl`.
    init(
        configuration: HTTPLanes.Configuration,
        addressGuard: AddressGuard,
        names: NameLookups?,
        roots: SharedRoots?,
        scope: ConnectionScope? = nil
    ) throws {
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init() else {
            throw HTTPLanesError.noLibcurl
        }
        let shared = Shared(State(), CurlWaker(multi: multi))
        self.shared = shared
        var lookUp: (@Sendable (Exchange) -> Void)?
        if let names {
            lookUp = { exchange in
                names.lookUp(exchange) { addresses in
                    let mustWake = shared.state.withLock { state in
                        let mustWake = state.errand.isEmpty
                        state.errand.found.append((exchange, addresses))
                        return mustWake
                    }
                    if mustWake { shared.wake() }
                }
            }
        }
        let worker = CurlWorker(
            multi: multi,
            configuration: configuration,
            addressGuard: addressGuard,
            roots: roots,
            scope: scope,
            lookUp: lookUp
        )
        let isRunning = DetachedThread.run {
            worker.run { finished in
                shared.state.withLock { state in
                    state.outstanding -= finished
                    defer { state.errand = CurlWorker.WorkItem(end: state.errand.end) }
                    return state.errand
                }
            }
            shared.dropWaker()
            // More requests may have come before this client noticed that it was retired.
            let late = shared.state.withLock { state in
                state.hasEnded = true
                return state.errand.arrivals
            }
            for exchange in late { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
            worker.close()
            for waiter in shared.state.withLock({ $0.waiters }) { waiter.resume() }
        }
        guard isRunning else {
            worker.close()
            throw HTTPLanesError.noLibcurl
        }
    }

    var hasEnded: Bool { shared.state.withLock(\.hasEnded) }

    /// Whether no request is outstanding.
    var isIdle: Bool { outstanding == 0 }

    /// Accepted requests that have not ended.
    var outstanding: Int { shared.state.withLock(\.outstanding) }

    /// Sends a request. Returns false without any effect after a shutdown or ``retire()``.
    func send(_ exchange: Exchange) -> Bool {
        let (isTaken, mustWake) = shared.state.withLock { state in
            guard state.errand.end == .none else { return (false, false) }
            let mustWake = state.errand.isEmpty
            state.outstanding += 1
            state.errand.arrivals.append(exchange)
            return (true, mustWake)
        }
        if mustWake { WakeUps.ask { [shared] in shared.wake() } }
        return isTaken
    }

    /// Finishes its requests and ends.
    func retire() {
        shared.state.withLock { state in
            if state.errand.end == .none { state.errand.end = .whenDone }
        }
        shared.wake()
    }

    /// Fails all outstanding requests and returns when the thread has ended.
    func shutDown() async {
        await withCheckedContinuation { continuation in
            let hasEnded = shared.state.withLock { state in
                state.errand.end = .now
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() } else { shared.wake() }
        }
    }
}

/// Ends a multi handle's wait from another thread.
///
/// `@unchecked Sendable`: `curl_multi_wakeup` is the one call libcurl allows from any thread, and the client drops this
/// under its lock before the handle is cleaned up.
struct CurlWaker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    init(multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    func wake() {
        curl_multi_wakeup(multi)
    }
}

extension NameLookups {
    /// Resolves the host of a request, which must be a name.
    fileprivate func lookUp(_ exchange: Exchange, completion: @escaping ThreadedLookup.Completion) {
        let origin = exchange.url.origin
        let deadline = exchange.deadline
        let lookUp = exchange.request.untrustedURL ? users : operators
        lookUp(origin.host, Int(origin.port), { Deadline.now() < deadline }, completion)
    }
}

/// A client for all requests without a scope, and one for each scope, because transfers of a client share connections.
final class CurlClients: Sendable {
    private struct Scoped {
        var client: CurlClient
        /// Rises with each use: the client with the lowest one was unused longest.
        var turn: UInt64
    }

    private struct State {
        var scoped: [ConnectionScope: Scoped] = [:]
        var leaving: [CurlClient] = []
        var turn: UInt64 = 0
        var isShutDown = false
    }

    private let common: CurlClient
    private let configuration: HTTPLanes.Configuration
    private let addressGuard: AddressGuard
    private let names: NameLookups?
    private let roots: SharedRoots?
    private let state = Mutex(State())

    init(configuration: HTTPLanes.Configuration, addressGuard: AddressGuard, names: NameLookups) throws {
        var scoped = configuration
        scoped.curl.connections = min(configuration.curl.connections, 64)
        scoped.curl.slowTransfers = min(configuration.curl.slowTransfers, 64)
        self.configuration = scoped
        self.addressGuard = addressGuard
        roots = SharedRoots(file: configuration.caFile)
        // A proxy resolves hosts itself.
        self.names = configuration.proxy == nil ? names : nil
        common = try CurlClient(
            configuration: configuration,
            addressGuard: addressGuard,
            names: self.names,
            roots: roots
        )
    }

    /// Sends a request. Returns false without any effect after a shutdown.
    func send(_ exchange: Exchange) -> Bool {
        if let scope = exchange.request.scope, !scope.isRetired, let client = client(of: scope), client.send(exchange) {
            return true
        }
        // A request whose scope has no client gets a separate connection.
        return common.send(exchange)
    }

    /// Accepted requests that have not ended.
    var outstanding: Int {
        let clients = state.withLock { $0.scoped.values.map(\.client) + $0.leaving }
        return clients.reduce(common.outstanding) { $0 + $1.outstanding }
    }

    /// Lets the client of `scope` finish its requests and end.
    func retire(_ scope: ConnectionScope) {
        state.withLock { state in
            guard let scoped = state.scoped.removeValue(forKey: scope) else { return }
            Self.leave(scoped.client, &state)
        }
    }

    func shutDown() async {
        let clients = state.withLock { state in
            state.isShutDown = true
            return state.scoped.values.map(\.client) + state.leaving
        }
        for client in clients { await client.shutDown() }
        await common.shutDown()
    }

    /// The client of `scope`, a new one if there is none; nil if there are too many.
    private func client(of scope: ConnectionScope) -> CurlClient? {
        state.withLock { state in
            state.turn += 1
            if let known = state.scoped[scope] {
                state.scoped[scope]?.turn = state.turn
                return known.client
            }
            guard !state.isShutDown, makeSpace(&state),
                let client = try? CurlClient(
                    configuration: configuration,
                    addressGuard: addressGuard,
                    names: names,
                    roots: roots,
                    scope: scope
                )
            else { return nil }
            state.scoped[scope] = Scoped(client: client, turn: state.turn)
            return client
        }
    }

    private func makeSpace(_ state: inout State) -> Bool {
        guard state.scoped.count >= Self.maxClients else { return true }
        let idle = state.scoped.filter { $0.value.client.isIdle }
        guard let stalest = idle.min(by: { $0.value.turn < $1.value.turn }) else { return false }
        state.scoped[stalest.key] = nil
        Self.leave(stalest.value.client, &state)
        return true
    }

    private static func leave(_ client: CurlClient, _ state: inout State) {
        state.leaving.removeAll { $0.hasEnded }
        state.leaving.append(client)
        client.retire()
    }

    /// Each uses a thread.
    private static let maxClients = 32
}
