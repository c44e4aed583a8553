import CarillonABI
import HTTPLanes
import Synchronization

/// The HTTP requests of one instance, and the connections that they go over, until nothing may be sent any more.
final class PluginRequests: Sendable {
    private struct State {
        /// Nil once nothing may be sent any more.
        var sender: (any HTTPSender)?
        var words = ConnectionWords()
    }

    /// The plugin's `done` of a request, carried to the thread that calls it, and what it was inside of when it asked.
    ///
    /// Unchecked: the pointer is the plugin's own business and never looked into here.
    private struct Reply: @unchecked Sendable {
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
        let note = LastingNote.current

        func call(_ result: Result<HTTPResponse, HTTPFailure>) {
            result.lend { response in LastingNote.during(.response, note) { done(context, response) } }
        }
    }

    private let state: Mutex<State>

    init(_ sender: any HTTPSender) { state = Mutex(State(sender: sender)) }

    /// `carillon_host.http_request`, for the instance of `bridge`.
    func send(
        _ pointer: UnsafePointer<carillon_http_request>?,
        _ done: carillon_http_done?,
        _ context: UnsafeMutableRawPointer?,
        for bridge: PluginBridge
    ) -> carillon_status {
        do throws(RequestError) {
            guard let done else { throw RequestError(.CARILLON_INVALID, "done is NULL") }
            var (request, word) = try HTTPRequest.reading(pointer)
            guard let (sender, scope) = open(word), bridge.change({ $0.beginRequest() }) else { return .CARILLON_BUSY }
            request.scope = scope
            let reply = Reply(done: done, context: context)
            sender.send(request) { result in
                reply.call(result)
                let failure: HTTPFailure.Reason? =
                    if case .failure(let failure) = result { failure.reason } else { nil }
                bridge.change { $0.endRequest(failure) }
            }
            return .CARILLON_OK
        } catch {
            bridge.noteRequest(error.text)
            return error.status
        }
    }

    /// The sender and the connections for a request of `word`; nil when nothing may be sent any more.
    private func open(_ word: UnsafeBufferPointer<UInt8>) -> (sender: any HTTPSender, scope: ConnectionScope?)? {
        let opened = state.withLock { state -> (any HTTPSender, ConnectionScope?, ConnectionScope?)? in
            guard let sender = state.sender else { return nil }
            guard !word.isEmpty else { return (sender, nil, nil) }
            let (scope, retired) = state.words.scope(of: word)
            return (sender, scope, retired)
        }
        guard let (sender, scope, retired) = opened else { return nil }
        if let retired { sender.retire(retired) }
        return (sender, scope)
    }

    /// `present` of the service `carillon.client-certificate/1`.
    func present(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str,
        _ room: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        do throws(CertificateError) {
            let (certificate, word) = try ClientCertificate.reading(certificates, key, on: connection)
            let (sender, retired) = state.withLock { ($0.sender, $0.words.present(certificate, on: word)) }
            guard let retired else { throw .tooMany }
            for scope in retired { sender?.retire(scope) }
            return .CARILLON_OK
        } catch {
            ErrorBuffer.write(error.text, to: room)
            return .CARILLON_INVALID
        }
    }

    /// Gives the words of requests new connections, as the plugin has forgotten what it did with the former ones:
    /// Apple, for one, refuses a second token on a connection for 20 minutes. What is under way on them goes on.
    func forgetConnections() {
        let (sender, retired) = state.withLock { ($0.sender, $0.words.removeAll()) }
        for scope in retired { sender?.retire(scope) }
    }

    /// Nothing may be sent any more.
    func close() {
        forgetConnections()
        state.withLock { $0.sender = nil }
    }
}
