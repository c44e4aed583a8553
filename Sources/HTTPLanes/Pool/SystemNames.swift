import Glibc
import NIOCore

/// The system's resolver.
enum SystemNames {
    /// Every address of `host` once. Blocks for as long as name servers take.
    static func lookUp(_ host: String, port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        // Every address comes once for each kind of socket.
        var seen: Set<IPAddress> = []
        return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap { entry in
            guard let entry, let address = entry.pointee.ai_addr,
                let ip = IPAddress(address, length: Int(entry.pointee.ai_addrlen)), seen.insert(ip).inserted
            else { return nil }
            let bytes = UnsafeRawPointer(address)
            return switch ip {
            case .v4: SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self), host: host)
            case .v6: SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self), host: host)
            }
        }
    }
}
