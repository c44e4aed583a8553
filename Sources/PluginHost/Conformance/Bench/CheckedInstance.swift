import CarillonABI
import Dispatch
import Synchronization

/// An instance of a transport on a host of its own.
final class CheckedInstance: Sendable {
    /// Beyond 32 bits: a plugin that keeps half of a ticket shows it.
    private static let lastTicket = Atomic<UInt64>(1 << 40)

    let host: CheckHost
    private let functions: TransportFunctions
    private let library: PluginLibrary
    private let handle: PluginInstance.Handle

    init(
        _ pointer: UnsafeMutableRawPointer?,
        on host: CheckHost,
        _ functions: TransportFunctions,
        of library: PluginLibrary
    ) {
        handle = PluginInstance.Handle(pointer: pointer)
        self.host = host
        self.functions = functions
        self.library = library
    }

    /// Hands over a delivery; what was lent is gone when this returns.
    @discardableResult
    func deliver(
        _ parcel: Parcel,
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) -> (ticket: UInt64, status: carillon_status) {
        let ticket = Self.lastTicket.add(1, ordering: .relaxed).newValue
        host.note { $0.begin(ticket) }
        let arena = Arena(placement, shape)
        let status = withExtendedLifetime(arena) {
            functions.deliver(
                handle.pointer,
                ticket,
                parcel.registration(in: arena),
                parcel.notification(in: arena)
            )
        }
        host.note { $0.answered(ticket, isAccepted: status == .CARILLON_OK) }
        return (ticket, status)
    }

    /// What the plugin says to a registration; nil when it does not check them.
    func validate(
        _ parcel: Parcel,
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        capacity: Int = 512
    ) -> Refusal? {
        guard let validate = functions.validate else { return nil }
        let arena = Arena(placement, shape)
        return withExtendedLifetime(arena) {
            Refusal(capacity: capacity) { validate(handle.pointer, parcel.registration(in: arena), $0) }
        }
    }

    /// Has it do a command; what was lent is gone when this returns. Nil when it knows none at all.
    @discardableResult
    func command(
        _ words: [[UInt8]],
        _ placement: Arena.Placement = .plain
    ) -> (number: Int, status: carillon_status)? {
        guard let command = functions.command else { return nil }
        let number = host.note { $0.beginCommand() }
        let context = CheckedCommand(number, on: host).context()
        let arena = Arena(placement)
        let status = withExtendedLifetime(arena) {
            command(handle.pointer, arena.array(words.map { arena.text($0) }), words.count, checkCommandDone, context)
        }
        host.note { $0.took(command: number, isAccepted: status == .CARILLON_OK) }
        return (number, status)
    }

    func cancel(_ ticket: UInt64) { functions.cancel?(handle.pointer, ticket) }

    /// Nothing may be outstanding.
    func destroy() {
        library.setup.sync { functions.destroy(handle.pointer) }
        host.note { $0.destroy() }
    }
}
