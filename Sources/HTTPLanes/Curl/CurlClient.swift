import CCurl
import NIOConcurrencyHelpers
import WakeUps

/// HTTP/1.1 and HTTP/2 through libcurl, for the many origins that get a request now and then. One thread of its own
/// carries all transfers, and they share connections.
final class CurlClient: Sendable {
    private struct State {
        var errand = CurlWorker.Errand()
        var outstanding: FairShares
        var hasEnded = false
        /// Those that wait for the thread's end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state: NIOLockedValueBox<State>
    /// Wakes the thread; nil once that has ended. Apart from the state: a thread that is woken takes that at once, and
    /// is not to wait for whoever woke it.
    private let waker: NIOLockedValueBox<CurlWaker?>

    /// - Parameters:
    ///   - configuration: Roots, proxy, limits.
    ///   - addressGuard: For users' URLs.
    ///   - roots: What its connections trust; nil: what libcurl reads itself.
    ///   - scope: The scope whose requests share connections; requests of others get one each.
    /// - Throws: `HTTPLanesError.noLibcurl`.
    init(
        configuration: HTTPLanes.Configuration,
        addressGuard: AddressGuard,
        roots: SharedRoots?,
        scope: ConnectionScope? = nil
    ) throws {
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init() else {
            throw HTTPLanesError.noLibcurl
        }
        let state = NIOLockedValueBox(State(outstanding: FairShares(room: configuration.otherRequests)))
        let waker = NIOLockedValueBox<CurlWaker?>(CurlWaker(multi: multi))
        (self.state, self.waker) = (state, waker)
        let worker = CurlWorker(
            multi: multi,
            configuration: configuration,
            addressGuard: addressGuard,
            roots: roots,
            scope: scope
        )
        let isRunning = DetachedThread.run {
            worker.run { finished in
                state.withLockedValue { state in
                    for share in finished { state.outstanding.giveBack(share) }
                    defer { state.errand = CurlWorker.Errand(end: state.errand.end) }
                    return state.errand
                }
            }
            waker.withLockedValue { $0 = nil }
            // More requests may have come before this client noticed that it was retired.
            let late = state.withLockedValue { state in
                state.hasEnded = true
                return state.errand.arrivals + state.errand.overflow
            }
            for exchange in late { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
            worker.close()
            for waiter in state.withLockedValue({ $0.waiters }) { waiter.resume() }
        }
        guard isRunning else {
            worker.close()
            throw HTTPLanesError.noLibcurl
        }
    }

    /// Whether its thread has ended.
    var hasEnded: Bool { state.withLockedValue(\.hasEnded) }

    /// Whether nothing is outstanding.
    var isIdle: Bool { outstanding == 0 }

    /// Requests that were taken and have not ended.
    var outstanding: Int { state.withLockedValue { $0.outstanding.taken } }

    /// Sends a request. Returns false, with nothing done, after a shutdown or ``retire()``.
    func send(_ exchange: Exchange) -> Bool {
        let (isTaken, mustWake) = state.withLockedValue { state in
            guard state.errand.end == .none else { return (false, false) }
            let mustWake = state.errand.isEmpty
            let share = exchange.request.share
            if state.outstanding.hasRoom(for: share) {
                state.outstanding.take(share)
                state.errand.arrivals.append(exchange)
            } else {
                state.errand.overflow.append(exchange)
            }
            return (true, mustWake)
        }
        if mustWake { WakeUps.ask { [waker] in Self.wake(waker) } }
        return isTaken
    }

    private static func wake(_ waker: NIOLockedValueBox<CurlWaker?>) { waker.withLockedValue { $0?.wake() } }

    /// Lets it finish its requests and end.
    func retire() {
        state.withLockedValue { state in
            if state.errand.end == .none { state.errand.end = .whenDone }
        }
        Self.wake(waker)
    }

    /// Fails all outstanding requests and returns when the thread has ended.
    func shutDown() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLockedValue { state in
                state.errand.end = .now
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() } else { Self.wake(waker) }
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
