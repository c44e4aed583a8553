import Glibc
import Testing

/// A port on loopback that belongs to this test and has no listener.
package final class DeafPort: Sendable {
    package let port: UInt16
    private let descriptor: Int32

    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: UInt32(0x7f00_0001).bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (isBound, isNamed) = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                (bind(descriptor, pointer, length) == 0, getsockname(descriptor, pointer, &length) == 0)
            }
        }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
        try #require(descriptor >= 0 && isBound && isNamed)
    }

    deinit { close(descriptor) }
}
