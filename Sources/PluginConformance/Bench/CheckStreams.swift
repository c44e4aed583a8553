import CarillonABI
import Dispatch
import PluginProtocol
import Synchronization

/// The streams of a plugin under check: they lead nowhere. Each ends with the failure that a request would get at that
/// moment, or with `unreachable`.
final class CheckStreams: Sendable {
    /// Unchecked: the context is the plugin's own business and never looked into here.
    private struct Stream: @unchecked Sendable {
        let events: carillon_stream_events
        let context: UnsafeMutableRawPointer?
        var isClosing = false
    }

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Stream] = [:]
        var isEnding = false
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "carillon.check-streams")
    /// Calls of plugins that are under way, or about to be.
    private let calls = DispatchGroup()

    /// All streams so far.
    var count: Int { Int(clamping: state.withLock(\.last)) }

    /// `failure`: how it ends; nil: not before ``end(_:)``.
    func open(
        _ target: UnsafePointer<carillon_stream_target>?,
        _ events: UnsafePointer<carillon_stream_events>?,
        _ context: UnsafeMutableRawPointer?,
        _ number: UnsafeMutablePointer<UInt64>?,
        failure: String?
    ) throws(StreamForm.Flaw) -> carillon_status {
        guard let number else { throw StreamForm.Flaw("stream is NULL") }
        _ = try StreamForm.checked(target)
        let stream = Stream(events: try StreamForm.checked(events), context: context)
        let own = state.withLock { state -> UInt64? in
            guard !state.isEnding, state.open.count < StreamForm.streamLimit else { return nil }
            state.last += 1
            state.open[state.last] = stream
            return state.last
        }
        guard let own else { return .CARILLON_BUSY }
        number.pointee = own
        if let failure { end(own, failure) }
        return .CARILLON_OK
    }

    /// What the plugin does with a stream; INVALID: there is none, or it is closed.
    func use(_ number: UInt64, isLast: Bool = false) -> carillon_status {
        let isOpen = state.withLock { state in
            guard let stream = state.open[number], !stream.isClosing else { return false }
            state.open[number]?.isClosing = isLast
            return true
        }
        if isOpen, isLast { end(number, "") }
        return isOpen ? .CARILLON_OK : .CARILLON_INVALID
    }

    /// Ends all streams with `failure`.
    func end(_ failure: String) {
        for number in state.withLock({ Array($0.open.keys) }) { end(number, failure) }
    }

    /// Ends all streams as an instance that is shut down, and takes no further ones.
    func shutDown() {
        state.withLock { $0.isEnding = true }
        end("shut-down")
        calls.wait()
    }

    private func end(_ number: UInt64, _ failure: String) {
        calls.enter()
        queue.async { [self] in
            defer { calls.leave() }
            guard let stream = state.withLock({ $0.open.removeValue(forKey: number) }) else { return }
            var failure = failure
            failure.withUTF8 { text in
                stream.events.closed?(
                    stream.context,
                    carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                )
            }
        }
    }
}

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

/// The service "carillon.stream/1".
func checkStreamTable() -> carillon_streams {
    carillon_streams(
        struct_size: 0,
        reserved: 0,
        open: checkStreamOpen,
        write: checkStreamWrite,
        start_tls: checkStreamStartTLS,
        close: checkStreamClose
    )
}

private func checkStreamOpen(
    _ host: UnsafePointer<carillon_host>?,
    _ target: UnsafePointer<carillon_stream_target>?,
    _ events: UnsafePointer<carillon_stream_events>?,
    _ context: UnsafeMutableRawPointer?,
    _ number: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    checkHost(of: host)?.openStream(target, events, context, number) ?? .CARILLON_INVALID
}

private func checkStreamWrite(
    _ host: UnsafePointer<carillon_host>?,
    _ number: UInt64,
    _ bytes: carillon_bytes
) -> carillon_status {
    checkHost(of: host)?.writeStream(number, bytes) ?? .CARILLON_INVALID
}

private func checkStreamStartTLS(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    checkHost(of: host)?.streams.use(number) ?? .CARILLON_INVALID
}

private func checkStreamClose(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    checkHost(of: host)?.streams.use(number, isLast: true) ?? .CARILLON_INVALID
}
