import CarillonABI
import Logging
import Notifications
import Synchronization

extension HostDoor {
    /// Opens what a filter may say in one call, under the pointer that stands for it. A call to the plugin begins unless
    /// that is nil, and ``closeEdit(_:)`` must follow.
    func openEdit(_ notification: Notification?) -> (number: UInt64, pointer: OpaquePointer)? {
        changeShell { shell -> (number: UInt64, pointer: UInt)? in
            guard shell.state.enter() else { return nil }
            shell.lastEdit += 1
            guard let door = shell.number,
                let pointer = CallContext(door: door, number: shell.lastEdit).pointer
            else {
                shell.state.leave()
                return nil
            }
            shell.edits[shell.lastEdit] = FilterEdit(notification)
            return (shell.lastEdit, UInt(bitPattern: pointer))
        }
        .flatMap { opened in OpaquePointer(bitPattern: opened.pointer).map { (opened.number, $0) } }
    }

    /// The call has returned: what the filter said in it. Nothing more is taken.
    func closeEdit(_ number: UInt64) -> FilterEdit {
        changeShell { shell in
            shell.state.leave()
            return shell.edits.removeValue(forKey: number) ?? FilterEdit(nil)
        }
    }

    /// The body of `carillon_filter_call.set`.
    static func set(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let context = CallContext(edit.map { UnsafeMutableRawPointer($0) }), let door = opened(context.door)
        else { return .CARILLON_INVALID }
        let status = door.shell.withLock { $0.edits[context.number]?.set(field, value) }
        guard let status else {
            door.note("The filter sets something after its call has returned", \.malformedEdits)
            return .CARILLON_INVALID
        }
        if status == .CARILLON_INVALID { door.note("The filter sets what cannot be taken", \.malformedEdits) }
        return status
    }
}
