import CCurl
import Logging
import NIOConcurrencyHelpers

/// A client for all requests without a scope, and one for each scope, as transfers of a client share connections.
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
    private let roots: SharedRoots?
    private let state = NIOLockedValueBox(State())

    init(configuration: HTTPLanes.Configuration, addressGuard: AddressGuard, logger: Logger) throws {
        var scoped = configuration
        scoped.otherConnections = min(configuration.otherConnections, 64)
        scoped.otherSlowTransfers = min(configuration.otherSlowTransfers, 64)
        self.configuration = scoped
        self.addressGuard = addressGuard
        roots = SharedRoots(file: configuration.caFile)
        common = try CurlClient(configuration: configuration, addressGuard: addressGuard, roots: roots)
        if ccurl_resolves_aside() == 0 {
            logger.warning("libcurl waits for name servers: one slow name holds up all requests that it carries")
        }
    }

    /// Sends a request. Returns false, with nothing done, after a shutdown.
    func send(_ exchange: Exchange) -> Bool {
        if let scope = exchange.request.scope, !scope.isRetired, let client = client(of: scope), client.send(exchange) {
            return true
        }
        // A request whose scope has no client gets a connection of its own.
        return common.send(exchange)
    }

    /// Requests that were taken and have not ended.
    var outstanding: Int {
        let clients = state.withLockedValue { $0.scoped.values.map(\.client) + $0.leaving }
        return clients.reduce(common.outstanding) { $0 + $1.outstanding }
    }

    /// Lets the client of `scope` finish its requests and end.
    func retire(_ scope: ConnectionScope) {
        state.withLockedValue { state in
            guard let scoped = state.scoped.removeValue(forKey: scope) else { return }
            Self.leave(scoped.client, &state)
        }
    }

    func shutDown() async {
        let clients = state.withLockedValue { state in
            state.isShutDown = true
            return state.scoped.values.map(\.client) + state.leaving
        }
        for client in clients { await client.shutDown() }
        await common.shutDown()
    }

    /// The client of `scope`, a new one if there is none; nil when there are too many.
    private func client(of scope: ConnectionScope) -> CurlClient? {
        state.withLockedValue { state in
            state.turn += 1
            if let known = state.scoped[scope] {
                state.scoped[scope]?.turn = state.turn
                return known.client
            }
            guard !state.isShutDown, makeSpace(&state),
                let client = try? CurlClient(
                    configuration: configuration,
                    addressGuard: addressGuard,
                    roots: roots,
                    scope: scope
                )
            else { return nil }
            state.scoped[scope] = Scoped(client: client, turn: state.turn)
            return client
        }
    }

    private func makeSpace(_ state: inout State) -> Bool {
        guard state.scoped.count >= Self.mostClients else { return true }
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
    private static let mostClients = 32
}
