import CarillonABI
import Dispatch
import Glibc
import PluginHost
import PluginProtocol

/// The plugin under check: a shared object in this process, or a Python plugin in its own process.
enum CheckedLibrary: Sendable {
    case library(PluginLibrary)
    case python(PythonPlugin)

    /// Runs functions that the header marks `[setup]`.
    var setup: DispatchQueue {
        switch self {
        case .library(let library): library.setup
        case .python(let plugin): plugin.setup
        }
    }

    /// The functions of the transport at `index` of the descriptor.
    func transport(_ entry: TransportEntry, at index: Int) -> TransportFunctions {
        switch self {
        case .library(let library): TransportFunctions(entry, library.tables.transports[index])
        case .python(let plugin): TransportFunctions(entry, of: plugin, at: index)
        }
    }

    /// The functions of the filter at `index` of the descriptor.
    func filter(_ entry: FilterEntry, at index: Int) -> FilterFunctions {
        switch self {
        case .library(let library): FilterFunctions(entry, library.tables.filters[index])
        case .python(let plugin): FilterFunctions(entry, of: plugin, at: index)
        }
    }

    /// A parcel within the limits of the router's protocol: a larger one would only end the process.
    func bounded(_ parcel: Parcel) -> Parcel {
        guard case .python = self else { return parcel }
        return parcel.with {
            $0.fields = Array($0.fields.prefix(256))
            $0.buttons = Array($0.buttons.prefix(64))
        }
    }

    /// The traceback of the first exception since the last call, if exceptions are recorded.
    func takeTraceback() -> String? {
        switch self {
        case .library: nil
        case .python(let plugin): plugin.takeTraceback()
        }
    }

    /// How often the plugin's own process has died, and the last reason. A shared object takes this process down
    /// instead.
    var crashes: (count: Int, last: String?) {
        switch self {
        case .library: (0, nil)
        case .python(let plugin): plugin.crashes
        }
    }
}

/// A transport's functions with the signatures of the ABI, from a library or a Python plugin's process.
struct TransportFunctions: Sendable {
    typealias Create =
        @Sendable (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    typealias Destroy = @Sendable (UnsafeMutableRawPointer?) -> Void
    typealias Validate =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_registration>?, UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    typealias Deliver =
        @Sendable (
            UnsafeMutableRawPointer?, UInt64, UnsafePointer<carillon_registration>?,
            UnsafePointer<carillon_notification>?
        ) -> carillon_status
    typealias Cancel = @Sendable (UnsafeMutableRawPointer?, UInt64) -> Void
    typealias Command =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_str>?, Int, carillon_command_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status
    typealias DeliverMany =
        @Sendable (UnsafeMutableRawPointer?, UnsafePointer<UnsafePointer<carillon_delivery>?>?, Int) -> carillon_status
    typealias Receive =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_inbound_request>?, carillon_inbound_done?,
            UnsafeMutableRawPointer?
        ) -> carillon_status
    typealias Check = @Sendable (carillon_str, UnsafeMutablePointer<carillon_error>?) -> carillon_status

    let entry: TransportEntry
    let create: Create
    let destroy: Destroy
    let validate: Validate?
    let deliver: Deliver
    let cancel: Cancel?
    let command: Command?
    let check: Check?
    /// Nil if the limit is 0.
    let deliverMany: DeliverMany?
    let receive: Receive?

    /// The functions of a library's table.
    init(_ entry: TransportEntry, _ table: carillon_transport) {
        self.entry = entry
        let library = LibraryTable(table)
        // The required functions of the entry have been checked.
        create = { library.table.create?($0, $1, $2, $3) ?? .CARILLON_FAILED }
        destroy = { library.table.destroy?($0) }
        deliver = { library.table.deliver?($0, $1, $2, $3) ?? .CARILLON_FAILED }
        validate = table.validate.map(LibraryTable.init).map { library in { library.table($0, $1, $2) } }
        cancel = table.cancel.map(LibraryTable.init).map { library in { library.table($0, $1) } }
        command = table.command.map(LibraryTable.init).map { library in { library.table($0, $1, $2, $3, $4) } }
        check = table.check.map(LibraryTable.init).map { library in { library.table($0, $1) } }
        if entry.manyLimit > 0 {
            deliverMany = table.deliver_many.map(LibraryTable.init).map { library in { library.table($0, $1, $2) } }
        } else {
            deliverMany = nil
        }
        receive = table.receive.map(LibraryTable.init).map { library in { library.table($0, $1, $2, $3) } }
    }

    /// The functions of the transport at `index` of a plugin in Python.
    init(_ entry: TransportEntry, of plugin: PythonPlugin, at index: Int) {
        self.entry = entry
        let has = entry.functions
        let python = PythonEntry(plugin: plugin, table: .transport, index: index)
        create = python.create
        destroy = PythonInstance.destroy
        deliver = PythonInstance.deliver
        validate = has.contains(.validate) ? PythonInstance.validate : nil
        cancel = has.contains(.cancel) ? PythonInstance.cancel : nil
        command = has.contains(.command) ? PythonInstance.command : nil
        check = has.contains(.check) ? python.check : nil
        deliverMany = entry.manyLimit > 0 ? PythonInstance.deliverMany : nil
        receive = has.contains(.receive) ? PythonInstance.receive : nil
    }

    /// The error that the plugin finds in a rule's block, as JSON with literals only; nil: none.
    func mistake(in block: String) -> String? {
        guard let check else { return nil }
        var block = block
        let refusal = block.withUTF8 { text in
            RefusedCall { check(carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count), $0) }
        }
        guard refusal.isRefused else { return nil }
        return refusal.said.isEmpty ? "no error message (status \(refusal.status.rawValue))" : refusal.said
    }
}

/// A filter's functions with the signatures of the ABI.
struct FilterFunctions: Sendable {
    typealias Decide =
        @Sendable (
            UnsafeMutableRawPointer?, UnsafePointer<carillon_filter_call>?, UnsafeMutablePointer<carillon_verdict>?
        ) -> carillon_status
    typealias Needs = @Sendable (UnsafeMutableRawPointer?) -> UInt32

    let entry: FilterEntry
    let create: TransportFunctions.Create
    let destroy: TransportFunctions.Destroy
    let decide: Decide
    let needs: Needs?

    /// The functions of a library's table.
    init(_ entry: FilterEntry, _ table: carillon_filter) {
        self.entry = entry
        let library = LibraryTable(table)
        create = { library.table.create?($0, $1, $2, $3) ?? .CARILLON_FAILED }
        destroy = { library.table.destroy?($0) }
        decide = { library.table.decide?($0, $1, $2) ?? .CARILLON_FAILED }
        needs = table.needs.map(LibraryTable.init).map { library in { library.table($0) } }
    }

    /// The functions of the filter at `index` of a plugin in Python.
    init(_ entry: FilterEntry, of plugin: PythonPlugin, at index: Int) {
        self.entry = entry
        create = PythonEntry(plugin: plugin, table: .filter, index: index).create
        destroy = PythonInstance.destroy
        decide = PythonInstance.decide
        needs = entry.functions.contains(.needs) ? PythonInstance.needs : nil
    }
}

/// C functions of a library in this process.
///
/// Unchecked: it is never unloaded, and its functions may be called from any thread.
private struct LibraryTable<Table>: @unchecked Sendable {
    let table: Table

    init(_ table: Table) { self.table = table }
}

/// A shared object that is checked in this process, which never unloads it.
final class PluginLibrary: Sendable {
    typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?

    /// Runs functions that the header marks `[setup]`, one call at a time.
    let setup = DispatchQueue(label: "carillon.plugin.setup")
    let entry: Entry
    let tables: PluginTables

    /// Loads the library of `file` and reads its descriptor, which runs its code.
    init(_ file: PluginFile) throws(PluginLoadError.Reason) {
        let entry = try Self.load(file.path)
        guard let pointer = setup.sync(execute: { entry() }) else { throw .refusedItself }
        self.entry = entry
        tables = try Self.tables(pointer)
    }

    /// Copies the tables of a descriptor.
    static func tables(_ pointer: UnsafePointer<carillon_plugin>) throws(PluginLoadError.Reason) -> PluginTables {
        do throws(PluginTables.DescriptorError) {
            return try PluginTables(reading: pointer)
        } catch {
            throw .badDescriptor(error.text)
        }
    }

    private static func load(_ path: String) throws(PluginLoadError.Reason) -> Entry {
        guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw .notLoadable(PluginText.printable(dlerror().map { String(cString: $0) } ?? "nothing"))
        }
        if let symbol = dlsym(handle, "carillon_plugin_entry_v1") {
            return unsafeBitCast(symbol, to: Entry.self)
        }
        for major in 2...99 where dlsym(handle, "carillon_plugin_entry_v\(major)") != nil {
            throw .otherMajor(major)
        }
        throw .noEntry
    }
}
