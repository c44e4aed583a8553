package import CarillonABI
import Core
import Synchronization

/// The router's services for a transport or a filter, valid until that is destroyed.
///
/// `@unchecked Sendable`: the struct behind the pointer never changes, and its functions may be called on any thread
/// concurrently.
public struct Host: @unchecked Sendable {
    /// The argument that identifies the caller to the router's services.
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

    /// Throws if the host lacks a function that every host of this major version has.
    package init(_ pointer: UnsafePointer<carillon_host>) throws(PluginError) {
        let host = carillon_host.adopt(pointer)
        guard let log = host.log, let complete = host.complete, let request = host.http_request else {
            throw PluginError("the router lacks log, complete or http_request: expected all three")
        }
        self.pointer = pointer
        logFunction = log
        completeFunction = complete
        requestFunction = request
    }

    /// Writes one line to the router's log. Never log a token, a key or a payload.
    public func log(_ level: LogLevel, _ message: String) {
        var message = message
        message.withUTF8 { logFunction(pointer, level.level, carillon_str(UnsafeRawBufferPointer($0))) }
    }

    /// Starts `request`. After ``Acceptance/accepted`` the host calls `completion` once, on a host thread, never from
    /// inside this call. After any other result it never calls it.
    public func send(
        _ request: borrowing HTTPRequest,
        completion: @escaping @Sendable (borrowing HTTPResponse) -> Void
    ) -> Acceptance {
        let context = PendingRequest(completion).retainedPointer()
        let status = request.withABI { requestFunction(pointer, $0, finishRequest, context) }
        if status != .CARILLON_OK {
            PendingRequest.release(context)
        }
        return Acceptance(status)
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

    /// Makes new connections of the group `connection` (see ``HTTPRequest/connection``) use a TLS client certificate.
    ///
    /// Call it from the transport's initializer, or before the first request with that group.
    ///
    /// - Parameters:
    ///   - certificates: PEM, the client's certificate first.
    ///   - key: Its private key, PEM, not encrypted.
    ///   - connection: 1 to 128 printable bytes.
    /// - Throws: An error if the certificates or the key are invalid, or the router has no such service. It never
    ///   contains a part of the key.
    public func present(certificates: String, key: String, onConnection connection: String) throws(PluginError) {
        guard let present = service(Self.clientCertificates, carillon_client_certificates.self)?.present else {
            throw .missingService(Self.clientCertificates)
        }
        var (certificates, key, connection) = (certificates, key, connection)
        let (status, said) = ErrorBuffer.withBuffer { error in
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
            throw PluginError(said.isEmpty ? "the router refused the client certificate" : said)
        }
    }

    /// Returns the functions of an optional service, or nil if this router does not have it.
    func service<Table: GrowingStruct>(_ name: StaticString, _ type: Table.Type) -> Table? {
        guard let query = carillon_host.adopt(pointer).query, let table = query(pointer, carillon_str(name)) else {
            return nil
        }
        return type.adopt(table.assumingMemoryBound(to: type))
    }
}

extension PluginError {
    /// The error if the router does not have the service.
    static func missingService(_ name: StaticString) -> PluginError {
        PluginError("the router does not have \(name): expected a version with this service")
    }
}

/// The completion of a request in flight, behind the ABI's `context`.
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

/// The severity of a log line.
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

extension Host {
    private static let states: StaticString = "carillon.state/1"

    /// Returns the value that ``setState(_:_:)`` stored under `key`, which survives restarts; nil if there is none.
    /// Throws if the router has no such service. Example: `let cursor = try host.state("cursor")`.
    public func state(_ key: String) throws(PluginError) -> [UInt8]? {
        guard let get = service(Self.states, carillon_states.self)?.get else {
            throw .missingService(Self.states)
        }
        var copy: [UInt8] = []
        var key = key
        let status = key.withUTF8 { key in
            withUnsafeMutablePointer(to: &copy) {
                get(pointer, carillon_str(UnsafeRawBufferPointer(key)), copyValue, $0)
            }
        }
        switch status {
        case .CARILLON_OK: return copy
        case .CARILLON_INVALID: return nil
        default: throw PluginError("the router refused to return a stored value (status \(status.rawValue))")
        }
    }

    /// Stores a value that survives restarts of the router and the plugin's process, encrypted on disk.
    ///
    /// A key has 1 to 64 printable ASCII bytes and a value up to 16 KiB; there are up to 256 keys with 256 KiB in
    /// total. An empty value removes the key. ``state(_:)`` returns a value immediately; it is on disk within a second.
    /// Throws if the router has no such service or rejects the value. Example: `try host.setState("cursor", [42])`.
    public func setState(_ key: String, _ value: [UInt8]) throws(PluginError) {
        guard let set = service(Self.states, carillon_states.self)?.set else {
            throw .missingService(Self.states)
        }
        var key = key
        let status = key.withUTF8 { key in
            value.withUnsafeBytes { value in
                set(pointer, carillon_str(UnsafeRawBufferPointer(key)), carillon_bytes(value))
            }
        }
        guard status == .CARILLON_OK else {
            throw PluginError(
                "the router refused to store the value: expected a key of 1 to 64 printable ASCII characters, at most "
                    + "16 KiB for one value, 256 keys and 256 KiB altogether"
            )
        }
    }
}

/// Copies a borrowed value into the byte array behind `context`.
func copyValue(_ context: UnsafeMutableRawPointer?, _ value: carillon_bytes) {
    let bytes = UnsafeRawBufferPointer(start: value.ptr, count: value.ptr == nil ? 0 : max(0, value.len))
    context?.assumingMemoryBound(to: [UInt8].self).pointee = Array(bytes)
}

extension Host {
    /// The public URL of the transport's ``PluginTransport/receive(_:answer:)``, absolute and without `/` at its end;
    /// nil if the operator has configured no public address.
    public var inboundURL: String? {
        let name: StaticString = "carillon.inbound/1"
        guard let ask = service(name, carillon_inbound.self)?.url else { return nil }
        var url: [UInt8] = []
        let status = withUnsafeMutablePointer(to: &url) { ask(pointer, copyValue, $0) }
        return status == .CARILLON_OK ? String(decoding: url, as: UTF8.self) : nil
    }
}

extension carillon_inbound: GrowingStruct {}

/// A rate-limited log, so that an error of every message does not fill the router's log. It distinguishes up to 256
/// subjects. Example: `log.log(reason, .warning, now: .now(), "the push service refused a message: \(reason)")`.
public final class RateLimitedLog<Subject: Hashable & Sendable>: Sendable {
    private static var capacity: Int { 256 }

    private let host: Host
    private let quiet: Duration?
    private let lastAt = Mutex<[Subject: Timestamp]>([:])

    /// Writes up to one line for each subject in `quiet`; nil: one line in total.
    public init(_ host: Host, quiet: Duration? = .hours(1)) {
        self.host = host
        self.quiet = quiet
    }

    /// Writes one line, unless one with that subject was written recently. If the clock was set back, the line is
    /// written.
    public func log(_ subject: Subject, _ level: LogLevel, now: Timestamp, _ message: @autoclosure () -> String) {
        let isDue = lastAt.withLock { lastAt in
            if let last = lastAt[subject] {
                if now >= last, quiet.map({ now - last < $0 }) ?? true { return false }
            } else if lastAt.count >= Self.capacity {
                return false
            }
            lastAt[subject] = now
            return true
        }
        if isDue {
            host.log(level, message())
        }
    }
}
