import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A lab's listeners and their connections.
final class LabSockets: Sendable {
    let group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    let connections = Connections()
    private let host: String
    private let servers = NIOLockedValueBox<[any Channel]>([])

    init(host: String) {
        self.host = host
    }

    /// Returns `http://localhost:PORT` or `https://localhost:PORT`.
    func open(_ server: some LabServer, port: Int) async throws -> String {
        let channel = try await server.start(host: host, port: port, on: group)
        servers.withLockedValue { $0.append(channel) }
        guard let port = channel.localAddress?.port else { throw LabError.system("A server of the lab has no port.") }
        return "\(server.scheme)://localhost:\(port)"
    }

    func closeAll() async {
        for server in servers.withLockedValue({ $0 }) {
            try? await server.close()
        }
        await connections.closeAll()
    }
}

/// The open connections of a lab, numbered from 1.
final class Connections: Sendable {
    private struct State {
        var last = 0
        var open: [Int: any Channel] = [:]
    }

    private let state = NIOLockedValueBox(State())

    func add(_ channel: any Channel) -> Int {
        let number = state.withLockedValue { state in
            state.last += 1
            state.open[state.last] = channel
            return state.last
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLockedValue { $0.open[number] = nil }
        }
        return number
    }

    /// Closes every connection and waits for that.
    func closeAll() async {
        let channels = state.withLockedValue { Array($0.open.values) }
        for channel in channels {
            channel.close(promise: nil)
        }
        for channel in channels {
            try? await channel.closeFuture.get()
        }
    }
}
