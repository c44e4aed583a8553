package import CarillonABI
import Units

/// What the router offers a transport or a filter. Valid until that is destroyed.
///
/// `@unchecked Sendable`: the struct behind the pointer never changes, and all of its functions may be called on any
/// thread, several at once.
public struct Host: @unchecked Sendable {
    /// What services of the router are called with.
    let pointer: UnsafePointer<carillon_host>
    private let logFunction: @convention(c) (UnsafePointer<carillon_host>?, carillon_log_level, carillon_str) -> Void
    private let completeFunction:
        @convention(c) (UnsafePointer<carillon_host>?, UInt64, UnsafePointer<carillon_outcome>?) -> Void
    private let requestFunction:
        @convention(c) (
            UnsafePointer<carillon_host>?, UnsafePointer<carillon_http_request>?, carillon_http_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status

    private static let clientCertificates: StaticString = "carillon.client-certificate/1"

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
                retry_after_ms: UInt32(clamping: outcome.retryAfter.milliseconds),
                reason: carillon_str(UnsafeRawBufferPointer(reason)),
                scope: outcome.scope.abi,
                reserved: 0
            )
            completeFunction(pointer, ticket, &outcome)
        }
    }

    /// Makes new connections of the word `connection` (see ``HTTPRequest/connection``) authenticate themselves by TLS.
    ///
    /// To be called from the transport's initialiser, or before the first request with that word.
    ///
    /// - Parameters:
    ///   - certificates: PEM, the own one first.
    ///   - key: Its private key, PEM, not encrypted.
    ///   - connection: 1 to 128 printable bytes.
    /// - Throws: What is wrong with either, never with a part of the key; and when the router has no such service.
    public func present(certificates: String, key: String, onConnection connection: String) throws(PluginError) {
        guard let present = service(Self.clientCertificates, carillon_client_certificates.self)?.present else {
            throw .missingService(Self.clientCertificates, since: "1.2")
        }
        var (certificates, key, connection) = (certificates, key, connection)
        let (status, said) = ErrorBuffer.lend { error in
            certificates.withUTF8 { certificates in
                key.withUTF8 { key in
                    connection.withUTF8 { connection in
                        present(
                            pointer,
                            carillon_str(UnsafeRawBufferPointer(connection)),
                            carillon_str(UnsafeRawBufferPointer(certificates)),
                            carillon_str(UnsafeRawBufferPointer(key)),
                            error
                        )
                    }
                }
            }
        }
        guard status == .CARILLON_OK else {
            throw PluginError(said.isEmpty ? "the router does not take the client certificate" : said)
        }
    }

    /// The functions of an optional service; nil: this router does not have it.
    func service<Table: GrowingStruct>(_ name: StaticString, _ type: Table.Type) -> Table? {
        guard let query = carillon_host.adopt(pointer).query, let table = query(pointer, carillon_str(name)) else {
            return nil
        }
        return type.adopt(table.assumingMemoryBound(to: type))
    }
}

extension PluginError {
    /// The router is older than the service.
    static func missingService(_ name: StaticString, since version: StaticString) -> PluginError {
        PluginError("the router offers no \(name): a router of ABI \(version) or newer is needed")
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

/// How much a line of the log matters.
public enum LogLevel: Sendable {
    case debug
    case info
    case warning
    case error

    var level: carillon_log_level {
        switch self {
        case .debug: .CARILLON_DEBUG
        case .info: .CARILLON_INFO
        case .warning: .CARILLON_WARNING
        case .error: .CARILLON_ERROR
        }
    }
}
