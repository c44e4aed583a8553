import CarillonABI
import Dispatch
import Notifications
import Synchronization

/// An instance of a filter on a host of its own.
final class CheckedFilter: Sendable {
    /// No verdict that there is or will be.
    private static let unwritten: Int32 = -7_777_777

    let host: CheckHost
    private let functions: FilterFunctions
    private let library: PluginLibrary
    private let handle: PluginInstance.Handle
    private let edits = Mutex<[CheckedEdit]>([])

    init(
        _ pointer: UnsafeMutableRawPointer?,
        on host: CheckHost,
        _ functions: FilterFunctions,
        of library: PluginLibrary
    ) {
        handle = PluginInstance.Handle(pointer: pointer)
        self.host = host
        self.functions = functions
        self.library = library
    }

    /// Asks the filter; what was lent is gone when this returns.
    @discardableResult
    func decide(
        _ inquiry: FilterInquiry,
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current
    ) -> FilterDecision {
        let isRendered = functions.isAskedAfterRendering
        let edit = CheckedEdit(isRendered ? Notification(mode: .alert, signal: .mention) : nil)
        edits.withLock { $0.append(edit) }
        let arena = Arena(placement, shape)
        var verdict = carillon_verdict(rawValue: Self.unwritten) ?? .CARILLON_PASS
        let status = withExtendedLifetime(arena) {
            functions.decide(
                handle.pointer,
                inquiry.call(in: arena, edit: edit.openForPlugin(), isRendered: isRendered),
                &verdict
            )
        }
        let written = verdict.rawValue == Self.unwritten ? nil : verdict.rawValue
        return FilterDecision(status: status, verdict: written, sets: edit.close())
    }

    /// What it says that it needs; nil when it does not say.
    var needs: UInt32? { library.setup.sync { functions.needs.map { $0(handle.pointer) } } }

    /// How often it set something after its call.
    var lateSets: Int { edits.withLock { $0.reduce(0) { $0 + $1.lateSets } } }

    func destroy() {
        library.setup.sync { functions.destroy(handle.pointer) }
        host.note { $0.destroy() }
    }
}
