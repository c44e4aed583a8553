import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// What a lab listens on, and the connections there are.
final class LabSockets: Sendable {
    let group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    let connections = Connections()
    private let host: String
    private let servers = NIOLockedValueBox<[any Channel]>([])

    init(host: String) {
        self.host = host
    }

    /// Returns `https://localhost:PORT`.
    func open(_ server: HTTP2Server, port: Int) async throws -> String {
        try add(try await server.start(host: host, port: port, on: group), "https")
    }

    /// Returns `http://localhost:PORT`, or `https` where the server has TLS.
    func open(_ server: HTTP1Server, port: Int) async throws -> String {
        try add(try await server.start(host: host, port: port, on: group), server.tls == nil ? "http" : "https")
    }

    func closeAll() async {
        for server in servers.withLockedValue({ $0 }) {
            try? await server.close()
        }
        await connections.closeAll()
    }

    private func add(_ server: any Channel, _ scheme: String) throws -> String {
        servers.withLockedValue { $0.append(server) }
        guard let port = server.localAddress?.port else { throw LabError.system("A server of the lab has no port.") }
        return "\(scheme)://localhost:\(port)"
    }
}
