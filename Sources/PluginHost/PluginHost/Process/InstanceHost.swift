import CarillonABI
import Core
import PluginProtocol

/// The router's side of one instance: receives the reports of the plugin's process, and carries out its requests. Its
/// functions are called on the session's threads.
package protocol InstanceHost: AnyObject, Sendable {
    /// Writes the fields of a `response` frame.
    typealias WriteResponse = (inout FrameWriter) -> Void

    /// The instance's URL for inbound requests; nil: it gets none.
    var inboundURL: String? { get }

    /// Ends a delivery. Its ticket is 0 if the process ended an unknown one.
    func complete(_ ticket: UInt64, _ outcome: carillon_outcome)
    /// Logs a line for the plugin.
    func logLine(_ level: carillon_log_level, _ line: carillon_str)
    /// Notes that the plugin broke a rule; its process has already returned the error.
    func note(_ rule: ViolationMessage.Rule, _ text: String)
    /// Sends an HTTP request. `done` is called once with a function that writes its response, unless the status is not
    /// OK.
    func send(_ request: RequestMessage, done: @escaping @Sendable (WriteResponse) -> Void) -> carillon_status
    /// Presents a client certificate; the text is the error message.
    func present(_ certificate: PresentMessage) -> (status: carillon_status, text: String)
    /// Opens a stream, which is idle until its start.
    func openStream(_ target: StreamOpenMessage, _ receiver: any StreamReceiver) -> StreamOpening
    /// A new process is about to create the instance again.
    func willRemake()

    /// Returns all stored values of the instance. From now on `listener` receives changes by others, and earlier
    /// listeners receive none. The instance counts its own changes from 1 again.
    func openState(_ listener: @escaping StateChange.Listener) -> [StateEntry]
    /// Stores a change of the instance, under its number. A refused change is sent back to the listener.
    func store(_ entry: StateEntry, change: UInt64)
    /// Sends all current values to the listener.
    func refreshState()
}

extension InstanceHost {
    /// Ends a delivery with an outcome of the router.
    func complete(_ ticket: UInt64, _ kind: carillon_outcome_kind, reason: StaticString) {
        var outcome = carillon_outcome()
        outcome.struct_size = UInt32(MemoryLayout<carillon_outcome>.size)
        outcome.kind = kind
        outcome.reason = carillon_str(ptr: UnsafeRawPointer(reason.utf8Start), len: reason.utf8CodeUnitCount)
        complete(ticket, outcome)
    }
}

/// The result of opening a stream for a process.
package enum StreamOpening: Sendable {
    /// It is idle until its start.
    case opened(any StreamConnection)
    case refused(carillon_status)
}

/// A change of stored values by another instance.
package struct StateChange: Sendable {
    /// Receives changes in order, one at a time; it must be quick.
    package typealias Listener = @Sendable (StateChange) -> Void

    /// An empty value means that the key was removed.
    package var entries: [StateEntry]
    /// The instance's last own change before this one.
    package var handled: UInt64
    /// Whether `entries` are all values.
    package var isWhole = false
}
