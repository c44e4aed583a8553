package import CarillonABI

/// What the router offers a transport: a log and HTTP. Valid until the transport is destroyed.
///
/// `@unchecked Sendable`: the struct behind the pointer never changes, and all of its functions may be called on any
/// thread, several at once.
public struct Host: @unchecked Sendable {
    let pointer: UnsafePointer<carillon_host>
    private let logFunction: @convention(c) (UnsafePointer<carillon_host>?, carillon_log_level, carillon_str) -> Void
    private let completeFunction:
        @convention(c) (UnsafePointer<carillon_host>?, UInt64, UnsafePointer<carillon_outcome>?) -> Void
    private let requestFunction:
        @convention(c) (
            UnsafePointer<carillon_host>?, UnsafePointer<carillon_http_request>?, carillon_http_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status

    /// Throws when the host lacks a function that every host of this major version has.
    package init(_ pointer: UnsafePointer<carillon_host>) throws(PluginError) {
        let host = carillon_host.adopt(pointer)
        guard let log = host.log, let complete = host.complete, let request = host.http_request else {
            throw PluginError("the router offers no log, complete or http_request: expected all three")
        }
        self.pointer = pointer
        logFunction = log
        completeFunction = complete
        requestFunction = request
    }

    /// Writes one line to the router's log. Never a token, a key or a payload.
    public func log(_ level: LogLevel, _ message: String) {
        var message = message
        message.withUTF8 { logFunction(pointer, level.level, carillon_str(UnsafeRawBufferPointer($0))) }
    }

    /// Starts `request`. After ``Admission/accepted`` `completion` is called once, on a thread of the host's and never
    /// from inside this call; after anything else never.
    public func send(
        _ request: borrowing HTTPRequest,
        completion: @escaping @Sendable (borrowing HTTPResponse) -> Void
    ) -> Admission {
        let context = PendingRequest(completion).retainedPointer()
        let status = request.withABI { requestFunction(pointer, $0, finishRequest, context) }
        if status != .CARILLON_OK {
            PendingRequest.release(context)
        }
        return Admission(status)
    }

    func complete(_ ticket: UInt64, _ outcome: Outcome) {
        var reason = outcome.reason
        reason.withUTF8 { reason in
            var outcome = carillon_outcome(
                struct_size: UInt32(MemoryLayout<carillon_outcome>.size),
                kind: outcome.kind.abi,
                provider_status: outcome.status,
                retry_after_ms: outcome.retryAfter,
                reason: carillon_str(UnsafeRawBufferPointer(reason)),
                scope: outcome.scope.abi,
                reserved: 0
            )
            completeFunction(pointer, ticket, &outcome)
        }
    }
}

/// The completion of a request under way, behind the ABI's `context`.
private final class PendingRequest {
    let completion: @Sendable (borrowing HTTPResponse) -> Void

    init(_ completion: @escaping @Sendable (borrowing HTTPResponse) -> Void) {
        self.completion = completion
    }

    func retainedPointer() -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(self).toOpaque()
    }

    static func release(_ context: UnsafeMutableRawPointer) {
        Unmanaged<PendingRequest>.fromOpaque(context).release()
    }
}

private func finishRequest(_ context: UnsafeMutableRawPointer?, _ response: UnsafePointer<carillon_http_response>?) {
    guard let context else { return }
    let pending = Unmanaged<PendingRequest>.fromOpaque(context).takeRetainedValue()
    pending.completion(HTTPResponse(response))
}
