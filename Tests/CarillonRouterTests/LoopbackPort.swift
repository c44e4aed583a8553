import Foundation

/// A port of 127.0.0.1 that was free a moment ago, or that has a listener as long as this value lives.
final class LoopbackPort {
    struct NoPort: Error {}

    let number: Int
    private let descriptor: Int32

    init(isListening: Bool) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard let number = Self.bind(descriptor), !isListening || listen(descriptor, 1) == 0 else { throw NoPort() }
        self.number = number
    }

    /// Binds to a port that the system does not assign automatically, so that it stays free after it is closed.
    private static func bind(_ descriptor: Int32) -> Int? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return (0..<100).lazy.map { _ in in_port_t.random(in: 10_000..<32_000) }.first { port in
            address.sin_port = port.bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Foundation.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }.map(Int.init)
    }

    deinit {
        close(descriptor)
    }
}
