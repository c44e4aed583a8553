import CCurl
import Units
import WakeUps

/// The work of libcurl's thread: takes requests, moves bytes and hands answers out, until told to stop.
///
/// `@unchecked Sendable`: once made, it is used on that thread alone.
final class CurlWorker: @unchecked Sendable {
    /// The next work for the thread.
    struct Errand {
        enum End {
            case none, whenDone, now
        }

        var arrivals: [Exchange] = []
        /// Requests beyond the limit. The thread refuses them, as that must not happen on the sender's thread.
        var overflow: [Exchange] = []
        var end = End.none

        var isEmpty: Bool { arrivals.isEmpty && overflow.isEmpty }
    }

    /// A transfer that takes so long leaves its place to one that waits.
    private static let slowAfter: Duration = .milliseconds(250)
    /// How often that is looked for.
    private static let placeInterval: Duration = .milliseconds(50)
    /// How long the slowest transfer may take when there are more slow ones than may be.
    private static let slowestGivesUpAfter: Duration = .seconds(2)

    private let multi: UnsafeMutableRawPointer
    private let configuration: HTTPLanes.Configuration
    private let addressGuard: AddressGuard
    private let scope: ConnectionScope?
    private let roots: SharedRoots?
    private let connections: KeptConnections
    private var queue: TransferQueue
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var spareHandles: [UnsafeMutableRawPointer] = []
    private var soonestDeadline: Deadline = .distantFuture
    private var placesMadeAt: Deadline = .distantPast
    /// The accounts of the requests that have ended.
    private var finished: [UInt32] = []

    init(
        multi: UnsafeMutableRawPointer,
        configuration: HTTPLanes.Configuration,
        addressGuard: AddressGuard,
        roots: SharedRoots?,
        scope: ConnectionScope?
    ) {
        self.multi = multi
        self.roots = roots
        self.configuration = configuration
        self.addressGuard = addressGuard
        self.scope = scope
        connections = KeptConnections(limit: configuration.otherConnections)
        queue = TransferQueue(places: configuration.otherConnections, slowPlaces: configuration.otherSlowTransfers)
        let connectionLimit = configuration.otherConnections + configuration.otherSlowTransfers
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connectionLimit)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.otherConnections)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.otherConnectionsPerHost)
    }

    /// Works until an errand says to stop, then fails all that is left.
    ///
    /// - Parameter nextErrand: Called with the accounts of the requests that were completed since the last call.
    func run(nextErrand: (_ finished: [UInt32]) -> Errand) {
        while true {
            let errand = nextErrand(finished)
            finished.removeAll(keepingCapacity: true)
            for exchange in errand.arrivals { queue.append(exchange) }
            for exchange in errand.overflow { exchange.fail(.overloaded, mayHaveBeenProcessed: false) }
            if errand.end == .now { break }
            while let exchange = queue.next() { begin(exchange) }
            if !queue.isEmpty {
                makePlaces()
                while let exchange = queue.next() { begin(exchange) }
            }
            if configuration.gate?.isOpen == false { holdBack() }
            if errand.end == .whenDone, transfers.isEmpty { break }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            // The answers of one turn wake whoever takes them once.
            WakeUps.together {
                collect()
                expire()
            }
            // If a completion has sent another request, a wake-up is pending and this returns at once.
            curl_multi_poll(multi, nil, 0, pause(), nil)
        }
        for exchange in queue.takeAll() { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
        for transfer in transfers.values {
            curl_multi_remove_handle(multi, transfer.easy)
            let mayHaveBeenProcessed = transfer.mayHaveBeenProcessed
            end(transfer).fail(.shutdown, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
        transfers.removeAll()
    }

    func close() {
        for easy in spareHandles { curl_easy_cleanup(easy) }
        spareHandles.removeAll()
        curl_multi_cleanup(multi)
    }

    private func begin(_ exchange: Exchange) {
        guard let easy = spareHandles.popLast() ?? curl_easy_init() else {
            queue.ended(exchange)
            return refuse(exchange, .overloaded)
        }
        begin(exchange, on: easy)
    }

    /// With `isFresh` the request goes over a new connection.
    private func begin(_ exchange: Exchange, on easy: UnsafeMutableRawPointer, isFresh: Bool = false) {
        let transfer = CurlTransfer(
            exchange: exchange,
            easy: easy,
            addressGuard: addressGuard,
            connections: connections
        )
        let isAlone = exchange.request.scope != scope
        guard transfer.prepare(configuration, roots, isAlone: isAlone, isFresh: isFresh),
            curl_multi_add_handle(multi, easy) == CURLM_OK
        else {
            return refuse(end(transfer), .protocolError)
        }
        transfers[easy] = transfer
        soonestDeadline = min(soonestDeadline, exchange.deadline)
    }

    /// Takes their places from transfers that take long, as others wait.
    private func makePlaces() {
        let now = Deadline.now()
        guard now - placesMadeAt >= Self.placeInterval else { return }
        placesMadeAt = now
        let old = transfers.values.filter { now - $0.begunAt >= Self.slowAfter }.sorted { $0.begunAt < $1.begunAt }
        var slowest = old.lazy.filter(\.exchange.isSlow).makeIterator()
        for transfer in old where !transfer.exchange.isSlow {
            if !queue.hasSlowPlace, let oldest = slowest.next(), now - oldest.begunAt >= Self.slowestGivesUpAfter {
                giveUp(oldest)
            }
            queue.slow(transfer.exchange)
        }
    }

    private func refuse(_ exchange: Exchange, _ reason: HTTPFailure.Reason) {
        finished.append(exchange.request.share)
        exchange.fail(reason, mayHaveBeenProcessed: false)
    }

    /// Gives up what no server has seen yet.
    private func holdBack() {
        for transfer in transfers.values where !transfer.mayHaveBeenProcessed {
            curl_multi_remove_handle(multi, transfer.easy)
            transfers[transfer.easy] = nil
            refuse(end(transfer), .closed)
        }
    }

    private func collect() {
        var code = CURLE_OK
        while let easy = ccurl_next_finished(multi, &code) {
            connections.note(easy)
            curl_multi_remove_handle(multi, easy)
            guard let transfer = transfers.removeValue(forKey: easy) else { continue }
            if transfer.metUnreadInput {
                reset(transfer)
                begin(transfer.exchange, on: easy, isFresh: true)
                continue
            }
            let result = transfer.result(code)
            finished.append(transfer.exchange.request.share)
            end(transfer).complete(result)
        }
    }

    private func expire() {
        let now = Deadline.now()
        for exchange in queue.takeDue(by: now) { refuse(exchange, .timeout) }
        guard soonestDeadline <= now else { return }
        for transfer in transfers.values where transfer.exchange.deadline <= now { giveUp(transfer) }
        soonestDeadline = transfers.values.reduce(.distantFuture) { min($0, $1.exchange.deadline) }
    }

    /// Ends a transfer that took too long.
    private func giveUp(_ transfer: CurlTransfer) {
        curl_multi_remove_handle(multi, transfer.easy)
        transfers[transfer.easy] = nil
        let mayHaveBeenProcessed = transfer.mayHaveBeenProcessed
        finished.append(transfer.exchange.request.share)
        end(transfer).fail(.timeout, mayHaveBeenProcessed: mayHaveBeenProcessed)
    }

    /// How long the thread may sleep, in milliseconds.
    private func pause() -> Int32 {
        if !finished.isEmpty { return 0 }
        let placesMade = queue.isEmpty ? Deadline.distantFuture : placesMadeAt + Self.placeInterval
        let left = min(soonestDeadline, queue.soonestDeadline, placesMade) - Deadline.now()
        return Int32(min(max(.zero, left), .minutes(1)).milliseconds)
    }

    /// Returns a transfer's handle and place, and the exchange that remains to be answered.
    private func end(_ transfer: CurlTransfer) -> Exchange {
        reset(transfer)
        if spareHandles.count < 64 { spareHandles.append(transfer.easy) } else { curl_easy_cleanup(transfer.easy) }
        queue.ended(transfer.exchange)
        return transfer.exchange
    }

    /// Removes all traces of a transfer from its handle.
    private func reset(_ transfer: CurlTransfer) {
        curl_easy_reset(transfer.easy)
        transfer.releaseHeaders()
    }
}
