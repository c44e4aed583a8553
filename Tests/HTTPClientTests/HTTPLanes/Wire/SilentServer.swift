import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Accepts connections on every address of the loopback, and never responds.
final class SilentServer: Sendable {
    private struct State {
        var open = 0
        var most = 0
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    let port: Int
    private let channel: any Channel
    private let state = NIOLockedValueBox(State())

    init() async throws {
        let state = state
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: 1_024)
            .childChannelInitializer { channel in
                let ready = state.withLockedValue { state in
                    state.open += 1
                    state.most = max(state.most, state.open)
                    let ready = state.waiters.filter { $0.count <= state.open }
                    state.waiters.removeAll { $0.count <= state.open }
                    return ready
                }
                for waiter in ready { waiter.continuation.resume() }
                channel.closeFuture.whenComplete { _ in state.withLockedValue { $0.open -= 1 } }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "0.0.0.0", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// The maximum number of simultaneous connections.
    var most: Int { state.withLockedValue { $0.most } }

    /// Waits until `count` clients are connected.
    func connections(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLockedValue { state in
                if state.open >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func stop() async {
        try? await channel.close()
    }
}
