import Core
import Dispatch
import Logging
import NIOCore
import NIOSSL
import Synchronization

/// The client for all outgoing HTTP: our own HTTP/2 connections for busy origins and users' URLs, libcurl for the rest.
///
///     let http = try HTTPLanes(configuration: .init(), group: group, logger: logger)
///     http.send(HTTPRequest(method: "POST", url: "https://api.push.apple.com/3/device/…", multiplexed: true)) { … }
///     await http.shutdown()  // before the group's
///
/// libcurl carries requests to origins that are not busy or lack HTTP/2, and all requests through a proxy without
/// tunnels.
package final class HTTPLanes: HTTPSender {
    private let pool: ConnectionPool
    private let curl: CurlClients
    private let dialer: OriginDialer
    private let busyOrigins = Mutex(BusyOrigins())
    private let shares = Synchronization.Atomic<UInt32>(0)

    /// - Parameters:
    ///   - configuration: Roots, proxy, exceptions, limits.
    ///   - group: Runs the connections; must outlive them.
    ///   - logger: Logs about connections, never about requests.
    /// - Throws: `HTTPLanesError` if a file, the proxy or an address block is invalid.
    package convenience init(configuration: Configuration, group: any EventLoopGroup, logger: Logger) throws {
        try self.init(configuration: configuration, group: group, logger: logger, names: NameLookups())
    }

    /// `names` resolves host names.
    init(configuration: Configuration, group: any EventLoopGroup, logger: Logger, names: NameLookups) throws {
        let dialer = try OriginDialer(configuration, names: names, logger: logger) { tls in
            // Lets a server without h2 choose instead of closing, so that its requests can use libcurl.
            tls.applicationProtocols = ["h2", "http/1.1"]
        }
        self.dialer = dialer
        let curl = try CurlClients(configuration: configuration, addressGuard: dialer.addressGuard, names: names)
        self.curl = curl
        pool = ConnectionPool(
            group: group,
            surroundings: OriginConnections.PoolContext(
                connect: dialer.connect,
                settings: configuration.lanes,
                jitter: { Double.random(in: 0...1) },
                gate: configuration.gate,
                withoutHTTP2: { exchange in
                    if !curl.send(exchange) { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
                }
            ),
            originLimit: configuration.multiplexedOrigins
        )
    }

    package func send(
        _ request: consuming HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        guard let url = URLParts(request.url) else { return Self.refuse(.invalidURL, completion) }
        guard request.isWellFormed else { return Self.refuse(.protocolError, completion) }
        if request.untrustedURL, let address = url.origin.address, !dialer.addressGuard.permits(address) {
            return Self.refuse(.forbiddenAddress, completion)
        }
        // The rough clock suffices; reading the exact one would double the cost of this function.
        let deadline = Deadline.nowRoughly() + request.timeout
        let exchange = Exchange(request: request, url: url, deadline: deadline, completion: completion)
        guard isForPool(exchange) ? pool.send(exchange) : curl.send(exchange) else {
            return Self.later { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
        }
    }

    /// Whether a request uses our own HTTP/2 connections: to busy origins, which they serve faster, and to users' URLs,
    /// whose servers could keep libcurl's HTTP/2 code busy with endless frames.
    private func isForPool(_ exchange: Exchange) -> Bool {
        guard dialer.canDial, exchange.url.origin.isSecure else { return false }
        if exchange.request.multiplexed || exchange.request.untrustedURL { return true }
        return busyOrigins.withLock { $0.note(exchange.url.origin, now: .now()) }
    }

    /// Why requests to a user's URL can never be sent; nil if that depends on the addresses of its name. A proxy checks
    /// addresses itself.
    package func objection(toUserURL url: String) -> HTTPError.Reason? {
        guard let url = URLParts(url) else { return .invalidURL }
        return dialer.hasProxy || dialer.addressGuard.mayPermit(url.origin) ? nil : .forbiddenAddress
    }

    package func retire(_ scope: ConnectionScope) {
        scope.retire()
        pool.retire(scope)
        curl.retire(scope)
    }

    package func share() -> any HTTPSender {
        AccountSender(http: self, number: shares.add(1, ordering: .relaxed).newValue)
    }

    /// Counts open connections and requests.
    package func snapshot() async -> HTTPSnapshot {
        var snapshot = await pool.snapshot()
        snapshot.otherRequests = curl.outstanding
        return snapshot
    }

    /// Fails outstanding requests, and every later one, as `shutdown`, and closes all connections. Call it before the
    /// event loop group shuts down.
    package func shutdown() async {
        await pool.shutDown()
        await curl.shutDown()
    }

    private static func refuse(
        _ reason: HTTPError.Reason,
        _ completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        later { completion(.failure(HTTPError(reason, mayHaveBeenProcessed: false))) }
    }

    /// A queue for the life of the process without name look-ups: refusals must arrive even after everything else has
    /// stopped.
    private static let refusals = DispatchQueue(label: "carillon.http-refusals")

    private static func later(_ work: @escaping @Sendable () -> Void) {
        refusals.async(execute: work)
    }
}

/// Outgoing HTTP for one account; see ``HTTPSender/share()``.
struct AccountSender: HTTPSender {
    let http: HTTPLanes
    let number: UInt32

    func send(
        _ request: consuming HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        request.share = number
        http.send(request, completion: completion)
    }

    func retire(_ scope: ConnectionScope) { http.retire(scope) }

    func share() -> any HTTPSender { http.share() }
}

/// Counts of outgoing HTTP at one moment, for metrics.
package struct HTTPSnapshot: Sendable, Hashable {
    /// Counts for one origin, or for all origins that users chose together.
    package struct OriginCount: Sendable, Hashable {
        /// Connections that are open.
        package var connections = 0
        /// Connections that are being opened.
        package var connecting = 0
        /// Requests in progress on them.
        package var streams = 0
        /// Requests that wait for a stream.
        package var waiting = 0

        static func += (left: inout Self, right: Self) {
            left.connections += right.connections
            left.connecting += right.connecting
            left.streams += right.streams
            left.waiting += right.waiting
        }
    }

    /// By host, and port unless it is 443. Only origins that the operator or a plugin chose: users' endpoints are
    /// secret.
    package var origins: [String: OriginCount] = [:]
    /// All origins that users chose.
    package var users = OriginCount()
    /// Requests that libcurl carries, including waiting ones.
    package var otherRequests = 0
}

/// The configuration error that prevents outgoing HTTP.
package enum HTTPLanesError: Error, Equatable, CustomStringConvertible {
    case notAnAddressBlock(String)
    case unusableRoots(String)
    case notAProxy
    case noLibcurl

    package var description: String {
        switch self {
        case .notAnAddressBlock(let text):
            "http.allow_private: \"\(text)\" is not a valid address block; write one like 10.1.2.0/24 or fd00:1::/32, "
                + "with no bits set after the prefix"
        case .unusableRoots(let file):
            "http.ca_file: no certificates could be read from \(file); it must be a readable PEM file"
        case .notAProxy:
            // Does not repeat the value, which may hold a password.
            "http.proxy: write \(Proxy.form)"
        case .noLibcurl:
            "libcurl could not be initialised; install version 7.87 or newer"
        }
    }
}

extension AddressGuard {
    /// A guard that permits `blocks` in CIDR notation in addition to public addresses.
    ///
    /// Throws an ``HTTPLanesError`` if a text is not a valid block.
    package init(allowing blocks: [String]) throws {
        self.init(
            exceptions: try blocks.map { text in
                guard let block = AddressBlock(text) else { throw HTTPLanesError.notAnAddressBlock(text) }
                return block
            }
        )
    }
}

/// Finds busy origins that no plugin marks as such. A request over our own HTTP/2 connections takes a tenth of
/// libcurl's processor time. The caller supplies the time.
///
/// It tracks a bounded number of origins, each for up to a minute.
struct BusyOrigins {
    private let often: Int
    private let limit: Int
    private var counts: [Origin: Int] = [:]
    /// The origins that were busy in the previous period.
    private var former: Set<Origin> = []
    private var end: Deadline = .distantPast

    /// An origin is busy from `often` requests within half a minute. Up to `limit` origins are counted at a time.
    init(often: Int = 3, limit: Int = 8_192) {
        self.often = often
        self.limit = limit
    }

    /// Counts a request. Returns whether its origin is busy.
    mutating func note(_ origin: Origin, now: Deadline) -> Bool {
        if now >= end { begin(now: now) }
        guard let count = counts[origin] else {
            if counts.count < limit { counts[origin] = 1 }
            return former.contains(origin)
        }
        if count < often { counts[origin] = count + 1 }
        return count + 1 >= often || former.contains(origin)
    }

    private mutating func begin(now: Deadline) {
        // After a pause, earlier counts are dropped.
        former = now < end + Self.period ? Set(counts.lazy.filter { [often] in $0.value >= often }.map(\.key)) : []
        counts.removeAll(keepingCapacity: true)
        end = now + Self.period
    }

    private static let period: Duration = .seconds(30)
}
