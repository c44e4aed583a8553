import CarillonABI
import Core
import PluginProtocol

@testable import PluginHost

/// A host that stores and sends nothing.
final class TestHost: InstanceHost {
    private let asked: @Sendable () -> Void
    private let open: @Sendable (any StreamReceiver) -> StreamOpening

    /// `asked` is called if the host's URL is requested, and `open` for each stream.
    init(
        asked: @escaping @Sendable () -> Void = {},
        open: @escaping @Sendable (any StreamReceiver) -> StreamOpening = { _ in .refused(.CARILLON_UNSUPPORTED) }
    ) {
        self.asked = asked
        self.open = open
    }

    var inboundURL: String? {
        asked()
        return nil
    }

    func complete(_: UInt64, _: carillon_outcome) {}
    func logLine(_: carillon_log_level, _: carillon_str) {}
    func note(_: ViolationMessage.Rule, _: String) {}

    func send(_: RequestMessage, done _: @escaping @Sendable (WriteResponse) -> Void) -> carillon_status {
        .CARILLON_UNSUPPORTED
    }

    func present(_: PresentMessage) -> (status: carillon_status, text: String) { (.CARILLON_UNSUPPORTED, "") }
    func openStream(_: StreamOpenMessage, _ receiver: any StreamReceiver) -> StreamOpening { open(receiver) }
    func willRemake() {}
    func openState(_: @escaping StateChange.Listener) -> [StateEntry] { [] }
    func store(_: StateEntry, change _: UInt64) {}
    func refreshState() {}
}
