import NIOCore
import NIOPosix
import Synchronization

/// Looks a name up once and hands out only addresses that may be connected to.
///
/// `@unchecked Sendable`: the promises are Sendable and `isStarted` is touched on the loop alone.
package final class GuardedResolver: Resolver, @unchecked Sendable {
    private let addressGuard: AddressGuard?
    private let names: any NameLookup
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private var isStarted = false
    private let isGivenUp = Atomic(false)

    /// A resolver serves one connection. Without a guard every address is permitted. `threads` wait for name servers:
    /// names that may be slow on purpose need threads of their own.
    package convenience init(
        loop: any EventLoop,
        addressGuard: AddressGuard?,
        threads: NIOThreadPool = .singleton
    ) {
        self.init(loop: loop, addressGuard: addressGuard, names: PooledLookup(threads: threads))
    }

    /// The same, with another way to look up names.
    package init(loop: any EventLoop, addressGuard: AddressGuard?, names: any NameLookup) {
        self.addressGuard = addressGuard
        self.names = names
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

    /// Skips a look-up that has not begun: one that nobody waits for any more must not delay others.
    package func cancelQueries() {
        isGivenUp.store(true, ordering: .relaxed)
    }

    private func start(host: String, port: Int) {
        guard !isStarted else { return }
        isStarted = true
        names.lookUp(
            host,
            port: port,
            isWanted: { !self.isGivenUp.load(ordering: .relaxed) },
            completion: { self.answer($0) }
        )
    }

    private func answer(_ found: [SocketAddress]) {
        let permitted = found.filter { addressGuard?.permits($0) ?? true }
        guard !permitted.isEmpty else {
            let reason = found.isEmpty ? HTTPFailure.Reason.unresolved : .forbiddenAddress
            let failure = HTTPFailure(reason, mayHaveBeenProcessed: false)
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
