import Glibc
import NIOCore

/// Why a socket of ours cannot listen where it was told to, in words that go on from naming the place.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String

    package init(_ cause: any Error) {
        description = Self.reason(cause)
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
