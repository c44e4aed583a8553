import CarillonABI
import PluginProtocol
import Synchronization

/// The edits of a filter during its current call. The router checks each edit again; here the filter gets its result.
///
/// One thread calls filters, so there is one call at a time. Its pointer is really a number, so that a late edit does
/// not access freed memory.
enum FilterEdits {
    fileprivate struct Call: Sendable {
        let number: UInt
        let instance: PluginInstance
        let form: FilterForm
        var edits: [Edit] = []
    }

    /// A field and its new value.
    struct Edit: Sendable {
        let field: [UInt8]
        let value: [UInt8]
    }

    private struct Shell: Sendable {
        var last: UInt = 0
        var call: Call?
        /// The instance of the last call, for late edits.
        var instance: PluginInstance?
    }

    private static let shell = Mutex(Shell())

    /// Returns the filter's edits during `body`; the last edit of a field counts.
    static func collect<Result>(
        _ instance: PluginInstance,
        _ mode: carillon_mode?,
        _ body: (OpaquePointer?) -> Result
    ) -> (result: Result, edits: [Edit]) {
        let number = shell.withLock { shell in
            shell.last += 1
            shell.call = Call(number: shell.last, instance: instance, form: FilterForm(mode))
            shell.instance = instance
            return shell.last
        }
        let result = body(OpaquePointer(bitPattern: number))
        let call = shell.withLock { shell in
            defer { shell.call = nil }
            return shell.call
        }
        return (result, call?.edits ?? [])
    }

    /// The implementation of `carillon_filter_call.set`.
    static func set(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        let number = edit.map { UInt(bitPattern: $0) } ?? 0
        let (status, instance) = shell.withLock { shell -> (carillon_status?, PluginInstance?) in
            guard shell.call?.number == number else { return (nil, shell.instance) }
            return (shell.call?.set(field, value), shell.instance)
        }
        guard let status else {
            instance?.process.note(.edit, of: instance, "it sets a field after its call has returned")
            return .CARILLON_INVALID
        }
        if status == .CARILLON_INVALID { instance?.process.note(.edit, of: instance, "it sets an invalid value") }
        return status
    }
}

extension FilterEdits.Call {
    fileprivate mutating func set(_ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        switch form.check(field, value) {
        case .refused(let status): return status
        case .taken(_, let new):
            let name = UnsafeRawBufferPointer(start: field.ptr, count: field.len)
            edits.removeAll { name.elementsEqual($0.field) }
            edits.append(FilterEdits.Edit(field: Array(name), value: Array(new)))
            return .CARILLON_OK
        }
    }
}
