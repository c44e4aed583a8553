import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore
import Synchronization

/// All outgoing HTTP: lanes of HTTP/2 for busy origins, libcurl for everything else.
///
///     let lanes = try HTTPLanes(configuration: .init(), group: group, logger: logger)
///     lanes.send(HTTPRequest(method: "POST", url: "https://api.push.apple.com/3/device/…", multiplexed: true)) { … }
///     await lanes.shutdown()  // before the group's
package final class HTTPLanes: HTTPSender {
    private let pool: LanePool
    private let curl: CurlClients
    private let usesLanes: Bool
    private let hasProxy: Bool
    private let addressGuard: AddressGuard
    private let shares = Synchronization.Atomic<UInt32>(0)

    /// - Parameters:
    ///   - configuration: Roots, proxy, exceptions, limits.
    ///   - group: Carries the lanes; must outlive them.
    ///   - logger: For what concerns connections, never requests.
    /// - Throws: `HTTPLanesError` when a file, the proxy or a block of addresses cannot be used.
    package convenience init(configuration: Configuration, group: any EventLoopGroup, logger: Logger) throws {
        try self.init(configuration: configuration, group: group, logger: logger, names: LaneNames())
    }

    /// `names` looks names up for lanes.
    init(configuration: Configuration, group: any EventLoopGroup, logger: Logger, names: LaneNames) throws {
        addressGuard = try AddressGuard(allowing: configuration.allowPrivate)
        let proxy = try configuration.proxy.map { url in
            guard let proxy = Proxy(url) else { throw HTTPLanesError.notAProxy }
            return proxy
        }
        usesLanes = proxy?.carriesLanes ?? true
        hasProxy = proxy != nil
        let connector: LaneConnector
        do {
            connector = try LaneConnector(
                caFile: configuration.caFile,
                addressGuard: addressGuard,
                tunnel: proxy.map { ProxyTunnel(proxy: $0, log: logger) },
                names: names
            )
        } catch {
            throw HTTPLanesError.unusableRoots(configuration.caFile ?? "the system's")
        }
        let curl = try CurlClients(configuration: configuration, addressGuard: addressGuard, logger: logger)
        self.curl = curl
        pool = LanePool(
            group: group,
            surroundings: OriginLanes.Surroundings(
                connector: connector,
                settings: configuration.lanes,
                jitter: { Double.random(in: 0...1) },
                withoutHTTP2: { exchange in
                    if !curl.send(exchange) { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
                }
            ),
            originLimit: configuration.multiplexedOrigins
        )
    }

    package func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        guard let url = URLParts(request.url) else { return Self.refuse(.invalidURL, completion) }
        guard request.isWellFormed else { return Self.refuse(.protocolError, completion) }
        if request.untrustedURL, let address = url.origin.address, !addressGuard.permits(address) {
            return Self.refuse(.forbiddenAddress, completion)
        }
        let deadline = NIODeadline.now().milliseconds + Int64(request.timeout)
        let exchange = Exchange(request: request, url: url, deadline: deadline, completion: completion)
        let isMultiplexed = request.multiplexed && url.origin.isSecure && usesLanes
        guard isMultiplexed ? pool.send(exchange) : curl.send(exchange) else {
            return Self.later { exchange.fail(.shutdown, mayHaveBeenProcessed: false) }
        }
    }

    /// Why no request to a user's URL could ever be sent; nil where one may be, if the names in it lead to permitted
    /// addresses. A proxy judges addresses itself.
    package func objection(toUserURL url: String) -> HTTPFailure.Reason? {
        guard let url = URLParts(url) else { return .invalidURL }
        return hasProxy || addressGuard.mayPermit(url.origin) ? nil : .forbiddenAddress
    }

    package func retire(_ scope: ConnectionScope) {
        scope.retire()
        pool.retire(scope)
        curl.retire(scope)
    }

    package func share() -> any HTTPSender {
        LanesShare(lanes: self, number: shares.add(1, ordering: .relaxed).newValue)
    }

    /// What is open at this moment.
    package func snapshot() async -> LanesSnapshot {
        var snapshot = await pool.snapshot()
        snapshot.otherRequests = curl.outstanding
        return snapshot
    }

    /// Fails what is outstanding, and every request from now on, as `shutdown`, and closes all connections. To be called
    /// before the event loop group shuts down.
    package func shutdown() async {
        await pool.shutDown()
        await curl.shutDown()
    }

    private static func refuse(
        _ reason: HTTPFailure.Reason,
        _ completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        later { completion(.failure(HTTPFailure(reason, mayHaveBeenProcessed: false))) }
    }

    /// On a queue that lives as long as the process, and that nobody looks up names on: a refusal must arrive even when
    /// nothing of ours runs any more.
    private static let refusals = DispatchQueue(label: "carillon.http-refusals")

    private static func later(_ work: @escaping @Sendable () -> Void) {
        refusals.async(execute: work)
    }
}
