import CarillonABI
import PluginProtocol
import Synchronization

/// What a filter sets in the call that is inside it. The router judges each edit again; here the filter gets its
/// answer.
///
/// Filters are asked by one thread, so there is one call at a time. It goes by a number in a pointer's place: a filter
/// that sets something after its call finds no freed memory.
enum FilterEdits {
    fileprivate struct Call: Sendable {
        let number: UInt
        let instance: PluginInstance
        let freedom: Freedom
        var edits: [Edit] = []
    }

    /// A field, and what the filter sets it to.
    struct Edit: Sendable {
        let field: [UInt8]
        let value: [UInt8]
    }

    /// How much may be changed of what is rendered.
    fileprivate enum Freedom: Sendable {
        case none
        case urgency
        case texts
    }

    private struct Shell: Sendable {
        var last: UInt = 0
        var call: Call?
        /// The instance of the last call, for edits that come too late.
        var instance: PluginInstance?
    }

    private static let shell = Mutex(Shell())
    fileprivate static let nameLimit = 64
    fileprivate static let textLimit = 65_536
    fileprivate static let reasonLimit = 60
    fileprivate static let texts: [StaticString] = [
        "title", "subtitle", "body", "category", "thread", "collapse_key", "url", "data",
    ]

    /// What the filter set in `body`; the last of several edits of a field.
    static func collect<Result>(
        _ instance: PluginInstance,
        _ mode: carillon_mode?,
        _ body: (OpaquePointer?) -> Result
    ) -> (result: Result, edits: [Edit]) {
        let freedom: Freedom =
            switch mode {
            case nil: .none
            case .CARILLON_SEALED, .CARILLON_ALERT: .texts
            default: .urgency
            }
        let number = shell.withLock { shell in
            shell.last += 1
            shell.call = Call(number: shell.last, instance: instance, freedom: freedom)
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

    /// The body of `carillon_filter_call.set`.
    static func set(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        let number = edit.map { UInt(bitPattern: $0) } ?? 0
        let (status, instance) = shell.withLock { shell -> (carillon_status?, PluginInstance?) in
            guard shell.call?.number == number else { return (nil, shell.instance) }
            return (shell.call?.set(field, value), shell.instance)
        }
        guard let status else {
            instance?.process.note(.edit, of: instance, "it sets something after its call has returned")
            return .CARILLON_INVALID
        }
        if status == .CARILLON_INVALID { instance?.process.note(.edit, of: instance, "it sets what cannot be taken") }
        return status
    }
}

extension FilterEdits.Call {
    fileprivate mutating func set(_ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let name = RequestForm.bytes(field, limit: FilterEdits.nameLimit) else { return .CARILLON_INVALID }
        func isCalled(_ word: StaticString) -> Bool { word.withUTF8Buffer { name.elementsEqual($0) } }
        let isFit: (UnsafeBufferPointer<UInt8>) -> Bool
        let limit: Int
        if isCalled("reason") {
            limit = FilterEdits.reasonLimit
            isFit = { $0.allSatisfy { (0x20...0x7e).contains($0) } }
        } else if isCalled("urgency"), freedom != .none {
            limit = 16
            isFit = { value in ["low", "normal", "high"].contains { value.elementsEqual($0.utf8) } }
        } else if freedom == .texts, FilterEdits.texts.contains(where: isCalled) {
            limit = FilterEdits.textLimit
            let isData = isCalled("data")
            isFit = { value in
                String(validating: value, as: UTF8.self) != nil && (!isData || Self.looksLikeObject(value))
            }
        } else {
            return .CARILLON_UNSUPPORTED
        }
        guard let new = RequestForm.bytes(value, limit: limit), isFit(new) else { return .CARILLON_INVALID }
        edits.removeAll { name.elementsEqual($0.field) }
        edits.append(FilterEdits.Edit(field: Array(name), value: Array(new)))
        return .CARILLON_OK
    }

    /// Nothing, or text in braces: whether it is JSON the router says, which then takes no notice of it.
    private static func looksLikeObject(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let spaces: [UInt8] = [0x20, 0x09, 0x0a, 0x0d]
        let first = text.first { !spaces.contains($0) }
        let last = text.last { !spaces.contains($0) }
        return text.isEmpty || first == UInt8(ascii: "{") && last == UInt8(ascii: "}")
    }
}
