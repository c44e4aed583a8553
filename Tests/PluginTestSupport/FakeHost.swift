package import CarillonABI
import Synchronization

/// The router's side of the ABI: records a transport's calls, and answers when a test does.
///
/// `@unchecked Sendable`: the pointers never change after init and their memory is only read; the rest is in a lock.
package final class FakeHost: @unchecked Sendable {
    // The context is a plugin's pointer: it is only ever handed back.
    private struct Pending: @unchecked Sendable {
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    private struct State {
        var requests: [RecordedRequest] = []
        var pending: [Pending?] = []
        var outcomes: [RecordedOutcome] = []
        var log: [String] = []
        var admission = carillon_status.CARILLON_OK
        var presented: [PresentedCertificate] = []
    }

    private let state = Mutex(State())
    private let host: UnsafeMutablePointer<carillon_host>
    private let certificateService: UnsafeMutablePointer<carillon_client_certificates>
    private let inboundService: UnsafeMutablePointer<carillon_inbound>
    fileprivate let inboundURL: String?
    /// The service "carillon.stream/1".
    package let streams = FakeStreams()
    private let streamService: UnsafeMutablePointer<carillon_streams>

    package var pointer: UnsafePointer<carillon_host> { UnsafePointer(host) }
    /// Timers, whose time a test advances.
    package let timers = FakeTimers()
    /// The plugin's stored state.
    package let states = FakeStates()

    /// `hasServices`: whether there are services; a host of ABI 1.0 has none. `inboundURL`: the URL that the service
    /// "carillon.inbound/1" returns; nil: no request can reach the transport.
    package init(hasServices: Bool = true, inboundURL: String? = nil) {
        self.inboundURL = inboundURL
        inboundService = .allocate(capacity: 1)
        inboundService.initialize(
            to: carillon_inbound(
                struct_size: UInt32(MemoryLayout<carillon_inbound>.size),
                reserved: 0,
                url: sayInboundURL
            )
        )
        certificateService = .allocate(capacity: 1)
        certificateService.initialize(
            to: carillon_client_certificates(
                struct_size: UInt32(MemoryLayout<carillon_client_certificates>.size),
                reserved: 0,
                present: recordCertificate
            )
        )
        streamService = .allocate(capacity: 1)
        streamService.initialize(to: streams.table())
        host = .allocate(capacity: 1)
        host.initialize(
            to: carillon_host(
                struct_size: UInt32(MemoryLayout<carillon_host>.size),
                abi_minor: UInt32(CARILLON_ABI_MINOR),
                host_data: nil,
                log: recordLine,
                complete: recordOutcome,
                http_request: recordRequest,
                query: hasServices ? findService : nil
            )
        )
        host.pointee.host_data = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        // As a host does at shutdown: every request is answered, and later calls are ignored.
        host.pointee.host_data = nil
        streams.endAll()
        for pending in state.withLock({ $0.pending }) {
            pending?.done(pending?.context, nil)
        }
        host.deallocate()
        certificateService.deallocate()
        inboundService.deallocate()
        streamService.deallocate()
    }

    package var requests: [RecordedRequest] { state.withLock { $0.requests } }
    package var outcomes: [RecordedOutcome] { state.withLock { $0.outcomes } }
    package var log: [String] { state.withLock { $0.log } }
    package var presented: [PresentedCertificate] { state.withLock { $0.presented } }

    /// Sets the immediate result of the next requests; if it is not OK, they never complete.
    package func setAdmission(_ status: carillon_status) {
        state.withLock { $0.admission = status }
    }

    /// Ends the request at `index` with a response; false if it has already ended.
    @discardableResult
    package func answer(
        _ index: Int = 0,
        status: UInt32,
        headers: [String: String] = [:],
        body: String = "",
        failure: String = ""
    ) -> Bool {
        let pending = state.withLock { state -> Pending? in
            guard state.pending.indices.contains(index) else { return nil }
            let pending = state.pending[index]
            state.pending[index] = nil
            return pending
        }
        guard let pending else { return false }
        let arena = ABIArena()
        let fields = headers.map { carillon_field(name: arena.text($0.key), value: arena.text($0.value)) }
        var response = carillon_http_response()
        response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
        response.status = status
        response.headers = arena.array(fields)
        response.header_count = fields.count
        response.body = arena.text(body)
        response.failure = arena.text(failure)
        withExtendedLifetime(arena) { pending.done(pending.context, &response) }
        return true
    }

    package static func text(_ text: carillon_str) -> String {
        String(decoding: UnsafeRawBufferPointer(start: text.ptr, count: text.len), as: UTF8.self)
    }

    static func at(_ host: UnsafePointer<carillon_host>?) -> FakeHost? {
        host?.pointee.host_data.map { Unmanaged<FakeHost>.fromOpaque($0).takeUnretainedValue() }
    }

    fileprivate func record(_ line: String) {
        state.withLock { $0.log.append(line) }
    }

    fileprivate func record(_ certificate: PresentedCertificate) {
        state.withLock { $0.presented.append(certificate) }
    }

    fileprivate func service(_ name: String) -> UnsafeRawPointer? {
        switch name {
        case "carillon.client-certificate/1": UnsafeRawPointer(certificateService)
        case "carillon.timer/1": FakeTimers.service.pointer
        case "carillon.state/1": FakeStates.service.pointer
        case "carillon.inbound/1": UnsafeRawPointer(inboundService)
        case "carillon.stream/1": UnsafeRawPointer(streamService)
        default: nil
        }
    }

    fileprivate func record(_ outcome: RecordedOutcome) {
        state.withLock { $0.outcomes.append(outcome) }
    }

    fileprivate func record(
        _ request: RecordedRequest,
        _ done: @escaping carillon_http_done,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        let pending = Pending(done: done, context: context)
        return state.withLock { state in
            guard state.admission == .CARILLON_OK else { return state.admission }
            state.requests.append(request)
            state.pending.append(pending)
            return .CARILLON_OK
        }
    }
}

private func recordLine(_ host: UnsafePointer<carillon_host>?, _ level: carillon_log_level, _ line: carillon_str) {
    FakeHost.at(host)?.record(FakeHost.text(line))
}

private func recordOutcome(
    _ host: UnsafePointer<carillon_host>?,
    _ ticket: UInt64,
    _ outcome: UnsafePointer<carillon_outcome>?
) {
    guard let outcome = outcome?.pointee else { return }
    FakeHost.at(host)?.record(
        RecordedOutcome(
            ticket: ticket,
            kind: outcome.kind,
            status: outcome.provider_status,
            retryAfter: outcome.retry_after_ms,
            reason: FakeHost.text(outcome.reason),
            scope: outcome.scope
        )
    )
}

private func recordRequest(
    _ host: UnsafePointer<carillon_host>?,
    _ request: UnsafePointer<carillon_http_request>?,
    _ done: carillon_http_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let host = FakeHost.at(host), let request = request?.pointee, let done else { return .CARILLON_INVALID }
    return host.record(RecordedRequest(request), done, context)
}

private func findService(_ host: UnsafePointer<carillon_host>?, _ name: carillon_str) -> UnsafeRawPointer? {
    FakeHost.at(host)?.service(FakeHost.text(name))
}

private func sayInboundURL(
    _ host: UnsafePointer<carillon_host>?,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let url = FakeHost.at(host)?.inboundURL, let value else { return .CARILLON_UNSUPPORTED }
    let arena = ABIArena()
    withExtendedLifetime(arena) { value(context, arena.text(url)) }
    return .CARILLON_OK
}

private func recordCertificate(
    _ host: UnsafePointer<carillon_host>?,
    _ connection: carillon_str,
    _ certificates: carillon_str,
    _ key: carillon_str,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    guard let host = FakeHost.at(host) else { return .CARILLON_INVALID }
    host.record(
        PresentedCertificate(
            connection: FakeHost.text(connection),
            certificates: FakeHost.text(certificates),
            key: FakeHost.text(key)
        )
    )
    return .CARILLON_OK
}
