import CCurl
import Core
import NIOCore

/// The main loop of libcurl's thread: takes requests, transfers bytes and delivers responses until told to stop.
///
/// `@unchecked Sendable`: once made, it is used only on that thread.
final class CurlWorker: @unchecked Sendable {
    /// Work that other threads left for this one.
    struct WorkItem {
        enum Shutdown {
            case none, whenDone, now
        }

        var arrivals: [Exchange] = []
        /// Requests with the addresses of their hosts.
        var found: [(exchange: Exchange, addresses: [SocketAddress])] = []
        var end = Shutdown.none

        var isEmpty: Bool { arrivals.isEmpty && found.isEmpty }
    }

    /// A transfer that takes this long gives its slot to a waiting one.
    private static let slowAfter: Duration = .milliseconds(250)
    /// The interval of that check.
    private static let placeInterval: Duration = .milliseconds(50)
    /// How long a host's only transfer may take when slow transfers exceed their limit and a host without any waits.
    private static let onlyOneGivesUpAfter: Duration = .milliseconds(750)
    /// The interval of the check for connections with endless input.
    private static let floodInterval: Duration = .milliseconds(20)

    private let multi: UnsafeMutableRawPointer
    private let configuration: HTTPLanes.Configuration
    private let addressGuard: AddressGuard
    private let scope: ConnectionScope?
    private let roots: SharedRoots?
    /// Starts to resolve a host; the addresses come with a later work item. Nil: libcurl or a proxy resolves hosts.
    private let lookUp: (@Sendable (Exchange) -> Void)?
    private let connections: KeptConnections
    /// Requests that have not ended.
    private var admitted: FairShares
    private var addresses = HostAddresses()
    private var queue: TransferQueue
    private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var idleHandles: [UnsafeMutableRawPointer] = []
    private var soonestDeadline: Deadline = .distantFuture
    private var placesMadeAt: Deadline = .distantPast
    private var floodsCheckedAt: Deadline = .distantPast
    /// The number of ended requests.
    private var finished = 0

    init(
        multi: UnsafeMutableRawPointer,
        configuration: HTTPLanes.Configuration,
        addressGuard: AddressGuard,
        roots: SharedRoots?,
        scope: ConnectionScope?,
        lookUp: (@Sendable (Exchange) -> Void)?
    ) {
        self.multi = multi
        self.lookUp = lookUp
        self.roots = roots
        self.configuration = configuration
        self.addressGuard = addressGuard
        self.scope = scope
        admitted = FairShares(room: configuration.curl.requests)
        queue = TransferQueue(places: configuration.curl.connections, slowPlaces: configuration.curl.slowTransfers)
        let connectionLimit = configuration.curl.connections + configuration.curl.slowTransfers
        connections = KeptConnections(limit: connectionLimit)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connectionLimit)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.curl.connections)
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.curl.connectionsPerHost)
    }

    /// Works until a work item requests a stop, then fails all remaining requests.
    ///
    /// - Parameter nextErrand: Returns the next work item. It gets the number of requests that completed since the last
    ///   call.
    func run(nextErrand: (_ finished: Int) -> WorkItem) {
        while true {
            let errand = nextErrand(finished)
            finished = 0
            for exchange in errand.arrivals { take(exchange) }
            for (exchange, addresses) in errand.found { found(addresses, for: exchange) }
            if errand.end == .now { break }
            while let exchange = queue.next() { begin(exchange) }
            if !queue.isEmpty {
                makePlaces()
                while let exchange = queue.next() { begin(exchange) }
            }
            if configuration.gate?.isOpen == false { holdBack() }
            if errand.end == .whenDone, transfers.isEmpty, addresses.waiting.isEmpty { break }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            // Delivers the responses of one turn with one wake-up for each receiver.
            WakeUps.together {
                collect()
                stopFloods()
                expire()
            }
            // If a completion has sent another request, a wake-up is pending and this returns immediately.
            curl_multi_poll(multi, nil, 0, pause(), nil)
        }
        for exchange in addresses.takeAll() + queue.takeAll() {
            exchange.fail(.shutdown, mayHaveBeenProcessed: false)
        }
        for transfer in transfers.values {
            curl_multi_remove_handle(multi, transfer.easy)
            let mayHaveBeenProcessed = transfer.mayHaveBeenProcessed
            end(transfer).fail(.shutdown, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
        transfers.removeAll()
    }

    func close() {
        for easy in idleHandles { curl_easy_cleanup(easy) }
        idleHandles.removeAll()
        curl_multi_cleanup(multi)
    }

    /// Takes a request. Above the limit, it is refused, or instead another one to a host with requests in progress.
    private func take(_ exchange: Exchange) {
        let share = exchange.request.share
        if !admitted.hasRoom(for: share) {
            guard let surplus = queue.takeSurplus(of: share, except: exchange.url.origin.host) else {
                finished += 1
                return exchange.fail(.overloaded, mayHaveBeenProcessed: false)
            }
            refuse(surplus, .overloaded)
        }
        admitted.take(share)
        guard let lookUp, !addresses.areKnown(to: exchange, now: .now()) else { return queue.append(exchange) }
        soonestDeadline = min(soonestDeadline, exchange.deadline)
        lookUp(exchange)
    }

    private func found(_ found: [SocketAddress], for exchange: Exchange) {
        guard addresses.found(found, for: exchange, now: .now()) else { return }
        if exchange.addresses == nil { refuse(exchange, .unresolved) } else { queue.append(exchange) }
    }

    private func begin(_ exchange: Exchange) {
        guard let easy = idleHandles.popLast() ?? curl_easy_init() else {
            queue.ended(exchange)
            return refuse(exchange, .overloaded)
        }
        begin(exchange, on: easy)
    }

    /// With `isFresh` the request uses a new connection.
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

    /// Frees the slots of slow transfers for waiting requests.
    private func makePlaces() {
        let now = Deadline.now()
        guard now - placesMadeAt >= Self.placeInterval else { return }
        placesMadeAt = now
        let old = transfers.values.filter { now - $0.begunAt >= Self.slowAfter }.sorted { $0.begunAt < $1.begunAt }
        var candidates = giveUps(among: old, now: now).prefix(queue.idleHosts).makeIterator()
        for transfer in old where !transfer.exchange.isSlow {
            if !queue.hasSlowPlace, let candidate = candidates.next() { giveUp(candidate, .evicted) }
            queue.slow(transfer.exchange)
        }
    }

    /// Slow transfers that may be given up for hosts that have none, in order: first of the host that has the most, and
    /// the oldest first. `old` are sorted by age.
    private func giveUps(among old: [CurlTransfer], now: Deadline) -> [CurlTransfer] {
        var counts: [String: Int] = [:]
        var candidates: [(transfer: CurlTransfer, younger: Int)] = []
        for transfer in old.reversed() {
            let younger = counts[transfer.exchange.url.origin.host, default: 0]
            counts[transfer.exchange.url.origin.host] = younger + 1
            guard transfer.exchange.isSlow, younger > 0 || now - transfer.begunAt >= Self.onlyOneGivesUpAfter else {
                continue
            }
            candidates.append((transfer, younger))
        }
        return candidates.sorted { ($0.younger, $1.transfer.begunAt) > ($1.younger, $0.transfer.begunAt) }
            .map(\.transfer)
    }

    /// Ends transfers whose servers send endless data.
    private func stopFloods() {
        let now = Deadline.now()
        guard now - floodsCheckedAt >= Self.floodInterval else { return }
        floodsCheckedAt = now
        for transfer in transfers.values where transfer.isFlooded {
            transfer.dropConnection()
            giveUp(transfer, .protocolError)
        }
    }

    private func refuse(_ exchange: Exchange, _ reason: HTTPError.Reason) {
        ended(exchange)
        exchange.fail(reason, mayHaveBeenProcessed: false)
    }

    private func ended(_ exchange: Exchange) {
        finished += 1
        admitted.giveBack(exchange.request.share)
    }

    /// Fails the transfers whose requests were not sent yet, because the gate is closed.
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
            curl_multi_remove_handle(multi, easy)
            guard let transfer = transfers.removeValue(forKey: easy) else { continue }
            transfer.ended()
            if transfer.metUnreadInput {
                reset(transfer)
                begin(transfer.exchange, on: easy, isFresh: true)
                continue
            }
            let result = transfer.result(code)
            ended(transfer.exchange)
            end(transfer, isAnswered: (try? result.get()) != nil).complete(result)
        }
    }

    private func expire() {
        let now = Deadline.now()
        for exchange in queue.takeDue(by: now) { refuse(exchange, .timeout) }
        guard soonestDeadline <= now else { return }
        for exchange in addresses.takeDue(by: now) { refuse(exchange, .timeout) }
        for transfer in transfers.values where transfer.exchange.deadline <= now { giveUp(transfer, .timeout) }
        soonestDeadline = transfers.values.reduce(addresses.soonestDeadline) { min($0, $1.exchange.deadline) }
    }

    /// Ends a transfer that took too long, or received too much.
    private func giveUp(_ transfer: CurlTransfer, _ reason: HTTPError.Reason) {
        curl_multi_remove_handle(multi, transfer.easy)
        transfers[transfer.easy] = nil
        let mayHaveBeenProcessed = transfer.mayHaveBeenProcessed
        ended(transfer.exchange)
        end(transfer).fail(reason, mayHaveBeenProcessed: mayHaveBeenProcessed)
    }

    /// How long the thread may sleep, in milliseconds.
    private func pause() -> Int32 {
        if finished > 0 { return 0 }
        let placesMade = queue.isEmpty ? Deadline.distantFuture : placesMadeAt + Self.placeInterval
        let left = min(soonestDeadline, queue.soonestDeadline, placesMade) - Deadline.now()
        return Int32(min(max(.zero, left), .minutes(1)).milliseconds)
    }

    /// Releases a transfer's handle and slot, and returns the exchange to complete.
    private func end(_ transfer: CurlTransfer, isAnswered: Bool = false) -> Exchange {
        reset(transfer)
        if idleHandles.count < 64 { idleHandles.append(transfer.easy) } else { curl_easy_cleanup(transfer.easy) }
        queue.ended(transfer.exchange, isAnswered: isAnswered)
        return transfer.exchange
    }

    /// Clears a transfer's state from its handle.
    private func reset(_ transfer: CurlTransfer) {
        curl_easy_reset(transfer.easy)
        transfer.releaseLists()
    }
}

/// Resolves hosts for libcurl, and holds their requests until then. The caller supplies the time.
///
/// libcurl itself would start a thread for each name. It leaves the thread running when it gives up on a name, so hosts
/// whose name servers never respond could use up all threads.
struct HostAddresses {
    private struct Found {
        let addresses: String
        let until: Deadline
    }

    /// The same as libcurl's.
    private static let lifetime: Duration = .minutes(1)

    private var found = BoundedCache<String, Found>(capacity: 4_096)
    private(set) var waiting: [ObjectIdentifier: Exchange] = [:]

    /// No waiting request has a deadline before this.
    var soonestDeadline: Deadline { waiting.values.reduce(.distantFuture) { min($0, $1.deadline) } }

    /// Whether a request can start because the addresses of its host are known. Otherwise it waits here until
    /// ``found(_:for:now:)``.
    mutating func areKnown(to exchange: Exchange, now: Deadline) -> Bool {
        let origin = exchange.url.origin
        guard origin.address == nil else { return true }
        if let known = found.peek(origin.host), known.until > now {
            exchange.addresses = known.addresses
            return true
        }
        waiting[ObjectIdentifier(exchange)] = exchange
        return false
    }

    /// Ends a request's wait. Returns false when it no longer waits.
    mutating func found(_ addresses: [SocketAddress], for exchange: Exchange, now: Deadline) -> Bool {
        guard waiting.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return false }
        let texts = addresses.compactMap { address -> String? in
            guard let text = address.ipAddress else { return nil }
            return address.protocol == .inet6 ? "[\(text)]" : text
        }
        guard !texts.isEmpty else { return true }
        let text = texts.joined(separator: ",")
        exchange.addresses = text
        found.set(Found(addresses: text, until: now + Self.lifetime), for: exchange.url.origin.host)
        return true
    }

    /// Removes and returns the requests whose deadline is `time` or earlier.
    mutating func takeDue(by time: Deadline) -> [Exchange] {
        let due = waiting.values.filter { $0.deadline <= time }
        for exchange in due { waiting[ObjectIdentifier(exchange)] = nil }
        return due
    }

    mutating func takeAll() -> [Exchange] {
        defer { waiting.removeAll() }
        return Array(waiting.values)
    }
}
