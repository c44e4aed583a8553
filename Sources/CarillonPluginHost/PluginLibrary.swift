import CIsolation
import CarillonABI
import Glibc
import PluginProtocol

/// A library that is loaded for good, and the tables of its plugin in copies of our own.
///
/// Unchecked: function pointers into a library that is never unloaded, and nothing here ever changes.
struct PluginLibrary: @unchecked Sendable {
    /// Why a library was not loaded.
    struct Refusal: Error {
        var reason: UnloadableMessage.Reason
        var number: UInt32 = 0
        var text = ""
    }

    private typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?

    static let abiMinor = UInt32(CARILLON_ABI_MINOR)
    private static let entryLimit = 64

    private let plugin: carillon_plugin
    let transports: [carillon_transport]
    let filters: [carillon_filter]

    /// Loads the library at `path` and asks it what it offers.
    init(loading path: String) throws(Refusal) {
        guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            throw Refusal(reason: .linker, text: dlerror().map { String(cString: $0) } ?? "nothing")
        }
        guard let symbol = dlsym(handle, "carillon_plugin_entry_v1") else {
            let other = (2...99).first { dlsym(handle, "carillon_plugin_entry_v\($0)") != nil }
            throw other.map { Refusal(reason: .otherMajor, number: UInt32($0)) } ?? Refusal(reason: .noEntry)
        }
        guard let pointer = unsafeBitCast(symbol, to: Entry.self)() else { throw Refusal(reason: .refusedItself) }
        guard let plugin = carillon_plugin(adopting: pointer) else {
            throw Self.malformed("struct_size of carillon_plugin is implausible")
        }
        self.plugin = plugin
        transports = try Self.entries(plugin.transports, plugin.transport_count, "transports")
        filters = try Self.entries(plugin.filters, plugin.filter_count, "filters")
    }

    private static func entries<Entry: ForeignStruct>(
        _ array: UnsafePointer<UnsafePointer<Entry>?>?,
        _ count: Int,
        _ what: String
    ) throws(Refusal) -> [Entry] {
        guard count != 0 else { return [] }
        guard (1...entryLimit).contains(count) else { throw malformed("more than \(entryLimit) \(what)") }
        guard let array else { throw malformed("\(what) is NULL, but their count is \(count)") }
        var entries: [Entry] = []
        for pointer in UnsafeBufferPointer(start: array, count: count) {
            guard let pointer else { throw malformed("one of its \(what) is NULL") }
            guard let entry = Entry(adopting: pointer) else {
                throw malformed("struct_size of a \(Entry.self) is implausible")
            }
            entries.append(entry)
        }
        return entries
    }

    private static func malformed(_ text: String) -> Refusal { Refusal(reason: .malformedDescriptor, text: text) }

    /// What the library offers. Texts and lists that cannot be what the header allows come as some that it does not
    /// allow either: the router judges them.
    func descriptor(confinement: UInt32) -> DescriptorMessage {
        DescriptorMessage(
            id: Self.text(plugin.id, limit: 128) ?? "",
            version: Self.text(plugin.version, limit: 64) ?? "",
            abiMinor: plugin.abi_minor,
            transports: transports.map(Self.transport),
            filters: filters.map(Self.filter),
            modules: Self.modules,
            confinement: confinement
        )
    }

    private static func transport(_ table: carillon_transport) -> DescriptorMessage.Transport {
        var functions: DescriptorMessage.Functions = []
        if table.create != nil { functions.insert(.create) }
        if table.destroy != nil { functions.insert(.destroy) }
        if table.validate != nil { functions.insert(.validate) }
        if table.deliver != nil { functions.insert(.deliver) }
        if table.cancel != nil { functions.insert(.cancel) }
        if table.command != nil { functions.insert(.command) }
        if table.check != nil { functions.insert(.check) }
        if table.deliver_many != nil { functions.insert(.deliverMany) }
        if table.receive != nil { functions.insert(.receive) }
        let documentLimit = 256 << 10
        return DescriptorMessage.Transport(
            flags: table.flags,
            platform: text(table.platform, limit: 64) ?? "",
            document: text(table.describe, limit: documentLimit) ?? String(repeating: " ", count: documentLimit + 1),
            functions: functions,
            manyLimit: table.deliver_many_limit
        )
    }

    private static func filter(_ table: carillon_filter) -> DescriptorMessage.Filter {
        var functions: DescriptorMessage.Functions = []
        if table.create != nil { functions.insert(.create) }
        if table.destroy != nil { functions.insert(.destroy) }
        if table.decide != nil { functions.insert(.decide) }
        if table.needs != nil { functions.insert(.needs) }
        return DescriptorMessage.Filter(
            flags: table.flags,
            name: text(table.name, limit: 64) ?? "",
            kinds: kinds(table),
            functions: functions
        )
    }

    private static func kinds(_ table: carillon_filter) -> [UInt32] {
        let limit = 16
        guard table.wanted_kind_count != 0 else { return [] }
        guard (1...limit).contains(table.wanted_kind_count), let start = table.wanted_kinds else {
            return Array(repeating: 0, count: limit + 1)
        }
        return Array(UnsafeBufferPointer(start: start, count: table.wanted_kind_count))
    }

    /// `text` as UTF-8 of at most `limit` bytes; nil when it is longer, not UTF-8, or NULL with a length.
    private static func text(_ text: carillon_str, limit: Int) -> String? {
        guard text.len != 0 else { return "" }
        guard text.len > 0, text.len <= limit, let start = text.ptr else { return nil }
        return String(validating: UnsafeRawBufferPointer(start: start, count: text.len), as: UTF8.self)
    }

    private static var modules: [DescriptorMessage.Module] {
        let limit = 512
        return withUnsafeTemporaryAllocation(of: carillon_module.self, capacity: limit) { modules in
            let count = carillon_list_modules(modules.baseAddress, limit)
            return modules.prefix(count).map { module in
                let name = module.name.map { String(cString: $0) } ?? ""
                return DescriptorMessage.Module(
                    name: name.isEmpty ? "carillon-plugin-host" : name,
                    start: module.start,
                    size: module.size
                )
            }
        }
    }
}
