import CarillonABI
import HTTPLanes
import Logging
import Notifications

extension HostDoor {
    private static var lineLimit: Int { 1024 }

    /// What the plugin's `done` needs, carried to the thread that calls it.
    ///
    /// Unchecked: the pointer is the plugin's own business and never looked into here.
    private struct Reply: @unchecked Sendable {
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    /// `carillon_host.log`.
    func write(_ message: carillon_str, _ level: carillon_log_level) {
        let level: Logger.Level =
            switch level {
            case .CARILLON_DEBUG: .debug
            case .CARILLON_INFO: .info
            case .CARILLON_WARNING: .warning
            case .CARILLON_ERROR: .error
            @unknown default: .warning
            }
        guard level >= log.logLevel else { return }
        log.log(
            level: level,
            "The plugin reports",
            metadata: ["line": "\(PluginText.line(message, limit: Self.lineLimit))"]
        )
    }

    /// `carillon_host.complete`.
    func complete(_ ticket: UInt64, _ pointer: UnsafePointer<carillon_outcome>?) {
        let (outcome, isWellFormed) = Outcome.reading(pointer)
        let (end, mistakes) = change { state in (state.complete(ticket), state.statistics.unknownTickets) }
        switch end {
        case .ended(let completion):
            if !isWellFormed { note("The plugin gave an outcome that is none", \.malformedOutcomes) }
            completion(outcome)
            change { $0.leave() }
        case .late: break
        case .unknown: warn("The plugin ended a ticket twice, or one that is not its own", times: mistakes)
        }
    }

    /// `carillon_host.http_request`.
    func send(
        _ pointer: UnsafePointer<carillon_http_request>?,
        _ done: carillon_http_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        do throws(RequestFlaw) {
            guard let done else { throw RequestFlaw(.CARILLON_INVALID, "done is NULL") }
            var (request, connection) = try HTTPRequest.reading(pointer)
            guard let (sender, scope) = beginRequest(on: connection) else { return .CARILLON_BUSY }
            request.scope = scope
            let reply = Reply(done: done, context: context)
            sender.send(request) { [self] result in
                result.lend { reply.done(reply.context, $0) }
                let failure: HTTPFailure.Reason? =
                    if case .failure(let failure) = result { failure.reason } else { nil }
                change { $0.endRequest(failure) }
            }
            return .CARILLON_OK
        } catch {
            log.debug("The plugin asked for a request that cannot be sent", metadata: ["flaw": "\(error.text)"])
            note("The plugin asked for requests that cannot be sent", \.malformedRequests)
            return error.status
        }
    }
}
