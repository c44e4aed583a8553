import CarillonABI
import Notifications
import Synchronization

/// The other end of a `carillon_edit`. It is never freed, so that a plugin which sets too late finds it.
final class CheckedEdit: Sendable {
    struct Entry: Sendable {
        let field: [UInt8]
        let value: [UInt8]
        let status: carillon_status
    }

    private struct State {
        var edit: FilterEdit
        var entries: [Entry] = []
        var isOpen = true
        var late = 0
    }

    private static let longest = 65_536
    private let state: Mutex<State>

    init(_ notification: Notification?) {
        state = Mutex(State(edit: FilterEdit(notification)))
    }

    /// The pointer for the plugin. To be called once.
    func openForPlugin() -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(self).toOpaque()) }

    static func at(_ pointer: OpaquePointer?) -> CheckedEdit? {
        pointer.map { Unmanaged<CheckedEdit>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
    }

    func set(_ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        let (name, bytes) = (Self.copy(field), Self.copy(value))
        return state.withLock { state in
            guard state.isOpen else {
                state.late += 1
                return .CARILLON_INVALID
            }
            let status = state.edit.set(field, value)
            state.entries.append(Entry(field: name, value: bytes, status: status))
            return status
        }
    }

    /// The call has returned.
    func close() -> [Entry] {
        state.withLock { state in
            state.isOpen = false
            return state.entries
        }
    }

    /// How often something was set after the call.
    var lateSets: Int { state.withLock(\.late) }

    private static func copy(_ bytes: carillon_bytes) -> [UInt8] {
        guard bytes.len > 0, let start = bytes.ptr else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: min(bytes.len, longest)))
    }
}

// A function, not a closure: a closure written in an isolated context traps when a plugin calls it from another thread.
func checkSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    CheckedEdit.at(edit)?.set(field, value) ?? .CARILLON_INVALID
}
