import CCurl
import Logging
import NIOConcurrencyHelpers
import NIOPosix

/// HTTP/1.1 and HTTP/2 through libcurl, for the many origins that are asked now and then. One thread of its own carries
/// all transfers.
final class CurlClient: Sendable {
    private struct State {
        var errand = CurlWorker.Errand()
        var outstanding = 0
        /// For `curl_multi_wakeup` alone, which any thread may call; nil once the thread has ended.
        var waker: CurlWaker?
    }

    private let state: NIOLockedValueBox<State>
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let limit: Int

    init(configuration: HTTPLanes.Configuration, addressGuard: AddressGuard, logger: Logger) throws {
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init() else {
            throw HTTPLanesError.noLibcurl
        }
        limit = configuration.otherRequests
        let state = NIOLockedValueBox(State(waker: CurlWaker(multi: multi)))
        self.state = state
        let worker = CurlWorker(multi: multi, configuration: configuration, addressGuard: addressGuard)
        thread.start()
        thread.submit { _ in
            worker.run { finished in
                state.withLockedValue { state in
                    state.outstanding -= finished
                    defer { state.errand = CurlWorker.Errand(isStopping: state.errand.isStopping) }
                    return state.errand
                }
            }
            state.withLockedValue { $0.waker = nil }
            worker.close()
            logger.debug("libcurl's thread has ended")
        }
    }

    /// False after a shutdown, with nothing done.
    func send(_ exchange: Exchange) -> Bool {
        state.withLockedValue { state in
            guard !state.errand.isStopping else { return false }
            let mustWake = state.errand.isEmpty
            if state.outstanding < limit {
                state.errand.arrivals.append(exchange)
            } else {
                state.errand.overflow.append(exchange)
            }
            state.outstanding += 1
            if mustWake { state.waker?.wake() }
            return true
        }
    }

    func shutDown() async {
        state.withLockedValue { state in
            state.errand.isStopping = true
            state.waker?.wake()
        }
        try? await thread.shutdownGracefully()
    }
}
