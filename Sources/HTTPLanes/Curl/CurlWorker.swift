import CCurl
import NIOCore

/// What libcurl's thread does: take requests in, move bytes, hand answers out, until told to stop.
///
/// `@unchecked Sendable`: after its making it is used on that thread alone.
final class CurlWorker: @unchecked Sendable {
    /// What the thread is to do next.
    struct Errand {
        var arrivals: [Exchange] = []
        /// Beyond what may be outstanding: to be refused, which must not happen on the sender's thread.
        var overflow: [Exchange] = []
        var isStopping = false

        var isEmpty: Bool { arrivals.isEmpty && overflow.isEmpty }
    }

    private let multi: UnsafeMutableRawPointer
    private let configuration: HTTPLanes.Configuration
    private let addressGuard: AddressGuard
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var spareHandles: [UnsafeMutableRawPointer] = []
    private var soonestDeadline: Int64 = .max
    private var finished = 0

    init(multi: UnsafeMutableRawPointer, configuration: HTTPLanes.Configuration, addressGuard: AddressGuard) {
        self.multi = multi
        self.configuration = configuration
        self.addressGuard = addressGuard
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, configuration.otherConnections)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.otherConnections)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.otherConnectionsPerHost)
    }

    /// Works until an errand says to stop, then fails what is left.
    ///
    /// - Parameter nextErrand: Is told how many requests were completed since it was asked last.
    func run(nextErrand: (_ finished: Int) -> Errand) {
        while true {
            let errand = nextErrand(finished)
            finished = 0
            for exchange in errand.arrivals { begin(exchange) }
            for exchange in errand.overflow { refuse(exchange, .overloaded) }
            if errand.isStopping { break }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            collect()
            expire()
            // A completion may have asked for more in the meantime: then a wake-up is pending and this returns at once.
            curl_multi_poll(multi, nil, 0, pause(), nil)
        }
        for transfer in transfers.values {
            curl_multi_remove_handle(multi, transfer.easy)
            let mayHaveBeenProcessed = transfer.mayHaveBeenProcessed
            end(transfer).fail(.shutdown, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
        transfers.removeAll()
    }

    func close() {
        for easy in spareHandles { curl_easy_cleanup(easy) }
        curl_multi_cleanup(multi)
    }

    private func begin(_ exchange: Exchange) {
        guard let easy = spareHandles.popLast() ?? curl_easy_init() else { return refuse(exchange, .overloaded) }
        let transfer = CurlTransfer(exchange: exchange, easy: easy, addressGuard: addressGuard)
        guard transfer.prepare(configuration), curl_multi_add_handle(multi, easy) == CURLM_OK else {
            return refuse(end(transfer), .protocolError)
        }
        transfers[easy] = transfer
        soonestDeadline = min(soonestDeadline, exchange.deadline)
    }

    private func refuse(_ exchange: Exchange, _ reason: HTTPFailure.Reason) {
        finished += 1
        exchange.fail(reason, mayHaveBeenProcessed: false)
    }

    private func collect() {
        var code = CURLE_OK
        while let easy = ccurl_next_finished(multi, &code) {
            curl_multi_remove_handle(multi, easy)
            guard let transfer = transfers.removeValue(forKey: easy) else { continue }
            let result = transfer.result(code)
            finished += 1
            end(transfer).complete(result)
        }
    }

    private func expire() {
        let now = NIODeadline.now().milliseconds
        guard soonestDeadline <= now else { return }
        for transfer in transfers.values where transfer.exchange.deadline <= now {
            curl_multi_remove_handle(multi, transfer.easy)
            transfers[transfer.easy] = nil
            let mayHaveBeenProcessed = transfer.mayHaveBeenProcessed
            finished += 1
            end(transfer).fail(.timeout, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
        soonestDeadline = transfers.values.reduce(.max) { min($0, $1.exchange.deadline) }
    }

    /// How long nothing need happen, in milliseconds.
    private func pause() -> Int32 {
        if finished > 0 { return 0 }
        let left = soonestDeadline == .max ? 60_000 : soonestDeadline - NIODeadline.now().milliseconds
        return Int32(min(max(left, 0), 60_000))
    }

    /// Gives the handle back, with nothing of the transfer on it, and returns what remains to be answered.
    private func end(_ transfer: CurlTransfer) -> Exchange {
        curl_easy_reset(transfer.easy)
        transfer.releaseHeaders()
        if spareHandles.count < 64 { spareHandles.append(transfer.easy) } else { curl_easy_cleanup(transfer.easy) }
        return transfer.exchange
    }
}
