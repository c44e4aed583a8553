import Foundation
import Glibc
import NATS

/// Three real servers on this machine that replicate JetStream among each other.
package final class RealCluster: Sendable {
    package let servers: [RealServer]

    package init() throws {
        let ports = try (0..<3).map { _ in try Self.freePort() }
        let routes = ports.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        servers = try ports.enumerated().map { number, port in
            try RealServer(
                """
                server_name: "n\(number)"
                cluster: { name: "c", listen: "127.0.0.1:\(port)", routes: [\(routes)] }
                """
            )
        }
    }

    /// A client of any of them that is connected.
    package func client() async throws -> NATSClient {
        try await RealServer.client(NATSSettings(servers: try servers.map { try $0.address }, name: "test"))
    }

    /// A port that nobody has. All servers must know all routes before they start, so none can choose its own.
    private static func freePort() throws -> Int {
        struct NoPort: Error {}
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw NoPort() }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket, pointer, length) == 0 && getsockname(socket, pointer, &length) == 0
            }
        }
        guard isBound else { throw NoPort() }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
