import Foundation

/// A port of 127.0.0.1 that was free a moment ago, or that somebody listens on as long as this lives.
final class LoopbackPort {
    struct NoPort: Error {}

    let number: Int
    private let descriptor: Int32

    init(isListening: Bool) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        number = Int(in_port_t(bigEndian: address.sin_port))
        guard isBound, !isListening || listen(descriptor, 1) == 0 else { throw NoPort() }
    }

    deinit {
        close(descriptor)
    }
}
