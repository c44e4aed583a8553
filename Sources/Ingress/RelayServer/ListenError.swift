import Glibc
import NIOCore

/// Why the relay socket cannot listen where it was told to.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String

    init(host: String, port: Int, cause: any Error) {
        let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        description = "relay.listen: cannot listen on \(place): \(Self.reason(cause))"
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE?: "another program listens there"
        case EADDRNOTAVAIL?: "this machine does not have that address"
        case EACCES?: "this user may not; ports below 1024 need CAP_NET_BIND_SERVICE"
        case let code?: String(cString: strerror(code))
        case nil: "expected an address of this machine, such as 127.0.0.1 or [::], or a name that stands for one"
        }
    }
}
