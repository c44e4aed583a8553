import CarillonABI
import Core
import PluginProtocol

/// The router's side of one instance: it receives what the plugin's process reports, and does what the process asks
/// for. Its functions are called on the session's threads.
package protocol InstanceHost: AnyObject, Sendable {
    /// Writes the fields of a `response` frame.
    typealias WriteResponse = (inout FrameWriter) -> Void

    /// The URL under which the instance is reached from outside; nil: nothing reaches it.
    var inboundURL: String? { get }

    /// A delivery has ended. Its ticket is 0 if the process ended one that it does not have.
    func complete(_ ticket: UInt64, _ outcome: carillon_outcome)
    /// The plugin logs a line.
    func logLine(_ level: carillon_log_level, _ line: carillon_str)
    /// The plugin broke a rule, which its process has answered.
    func note(_ rule: MistakeMessage.Rule, _ text: String)
    /// Sends an HTTP request. `done` is called once with what writes its response, unless the status is not OK.
    func send(_ request: RequestMessage, done: @escaping @Sendable (WriteResponse) -> Void) -> carillon_status
    /// Presents a client certificate; the text says what is wrong with it.
    func present(_ certificate: PresentMessage) -> (status: carillon_status, text: String)
    /// Opens a stream, which does nothing before its start.
    func openStream(_ target: StreamOpenMessage, _ receiver: any StreamReceiver) -> StreamOpening
    /// A new process is about to make the instance again.
    func willRemake()

    /// Returns everything that is kept for the instance. From now on `listener` receives what changes elsewhere, and
    /// none that was given before. The instance counts its own changes from 1 again.
    func openState(_ listener: @escaping StateChange.Listener) -> [StateEntry]
    /// Keeps a change of the instance, under its number. One that is refused comes back to the listener.
    func store(_ entry: StateEntry, change: UInt64)
    /// Gives the listener everything that is kept now.
    func refreshState()
}

extension InstanceHost {
    /// Ends a delivery with an outcome of the router's.
    func complete(_ ticket: UInt64, _ kind: carillon_outcome_kind, reason: StaticString) {
        var outcome = carillon_outcome()
        outcome.struct_size = UInt32(MemoryLayout<carillon_outcome>.size)
        outcome.kind = kind
        outcome.reason = carillon_str(ptr: UnsafeRawPointer(reason.utf8Start), len: reason.utf8CodeUnitCount)
        complete(ticket, outcome)
    }
}

/// The result of opening a stream that a process asked for.
package enum StreamOpening: Sendable {
    /// It does nothing before its start.
    case opened(any StreamConnection)
    case refused(carillon_status)
}

/// What changed for an instance elsewhere.
package struct StateChange: Sendable {
    /// Receives changes in their order, one at a time; it must be quick.
    package typealias Listener = @Sendable (StateChange) -> Void

    /// With an empty value: the key is gone.
    package var entries: [StateEntry]
    /// The last own change of the instance that came before.
    package var handled: UInt64
    /// Whether `entries` are all that there is.
    package var isWhole = false
}
