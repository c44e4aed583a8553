import Dispatch
import Glibc
import Synchronization

/// Names that take their time: the look-up of whatever ends in `.slow.invalid` fails, but not before it is let go.
///
/// It takes libc's place for the whole test program, libcurl included, and asks libc about every other name.
enum SlowNames {
    /// How long a test may forget to let go, in seconds.
    private static let patience = 120
    private static let gate = DispatchSemaphore(value: 0)
    private static let waiting = Atomic(0)

    static var areAsked: Bool { waiting.load(ordering: .relaxed) > 0 }

    static func letGo() {
        gate.signal()
    }

    fileprivate static func hold() -> Int32 {
        waiting.add(1, ordering: .relaxed)
        _ = gate.wait(timeout: .now() + .seconds(patience))
        waiting.subtract(1, ordering: .relaxed)
        return EAI_AGAIN
    }

    fileprivate typealias LookUp =
        @convention(c) (
            UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<addrinfo>?,
            UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
        ) -> Int32

    fileprivate static let real: LookUp? = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "getaddrinfo")
        .map { unsafeBitCast($0, to: LookUp.self) }
}

/// `getaddrinfo` of libc, with the exception above.
@_cdecl("getaddrinfo")
public func lookUp(
    _ node: UnsafePointer<CChar>?,
    _ service: UnsafePointer<CChar>?,
    _ hints: UnsafePointer<addrinfo>?,
    _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>?
) -> Int32 {
    if let node, String(cString: node).hasSuffix(".slow.invalid") { return SlowNames.hold() }
    return SlowNames.real?(node, service, hints, result) ?? EAI_FAIL
}
