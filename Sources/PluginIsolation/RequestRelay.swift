import CarillonABI
import PluginProtocol

/// Hands the HTTP requests of a process to the hosts of its instances, and the answers back.
final class RequestRelay: Sendable {
    /// Leads from the host's `done` back to the process that asked.
    private final class OpenRequest: Sendable {
        let relay: RequestRelay
        let session: ChildSession
        let id: UInt64

        init(_ relay: RequestRelay, _ session: ChildSession, id: UInt64) {
            self.relay = relay
            self.session = session
            self.id = id
        }
    }

    private let work: ProcessWork

    init(_ work: ProcessWork) { self.work = work }

    /// Handles `request`.
    func receive(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try RequestMessage(reading: frame)
        let (isNew, host) = work.withLock { state -> (Bool, HostPointer?) in
            switch state.requests.begin(frame.id, for: message.ticket, inHand: state.ledger.count) {
            case .inUse: (false, nil)
            case .tooMany: (true, nil)
            case .taken: (true, state.roster.host(of: message.instance))
            }
        }
        guard isNew else { throw .unexpected(.request) }
        let request = OpenRequest(self, session, id: frame.id)
        guard let host else { return end(request, Self.failure("overloaded")) }
        let context = Unmanaged.passRetained(request)
        let status = message.lend { lent in
            host.pointer.pointee.http_request?(host.pointer, lent, requestDone, context.toOpaque()) ?? .CARILLON_FAILED
        }
        guard status != .CARILLON_OK else { return }
        context.release()
        end(request, Self.failure(status == .CARILLON_BUSY ? "shutdown" : "refused"))
    }

    private static func failure(_ reason: StaticString) -> carillon_http_response {
        var response = carillon_http_response()
        response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
        response.failure = carillon_str(ptr: UnsafeRawPointer(reason.utf8Start), len: reason.utf8CodeUnitCount)
        return response
    }

    private func end(_ request: OpenRequest, _ response: carillon_http_response) {
        let (session, frames, carried, parts) = work.withLock { state in
            var carried: [UInt64] = []
            if state.session === request.session {
                state.requests.end(request.id)
            } else {
                carried = state.requests.end(request.id, of: ObjectIdentifier(request.session))
                state.ledger.endRequest(for: carried)
            }
            return (state.session, state.takeNext(), carried, state.parts)
        }
        for part in parts { part.endRequest(for: carried) }
        let fits = request.session.send(.response, id: request.id) { ResponseMessage.write(response, to: &$0) }
        if !fits {
            _ = request.session.send(.response, id: request.id) {
                ResponseMessage.write(Self.failure("too-large"), to: &$0)
            }
        }
        ProcessWork.send(frames, to: session)
    }

    /// `done` of the host.
    fileprivate static func end(_ context: UnsafeMutableRawPointer?, _ response: UnsafePointer<carillon_http_response>?)
    {
        guard let context else { return }
        let request = Unmanaged<OpenRequest>.fromOpaque(context).takeRetainedValue()
        request.relay.end(request, response?.pointee ?? failure("closed"))
    }
}

private func requestDone(_ context: UnsafeMutableRawPointer?, _ response: UnsafePointer<carillon_http_response>?) {
    RequestRelay.end(context, response)
}
