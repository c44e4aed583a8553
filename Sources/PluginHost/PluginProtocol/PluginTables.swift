import CarillonABI

/// A library's descriptor with the tables of its transports and filters, as copies.
///
/// Unchecked: its function pointers never change, and they point into a library that is never unloaded.
package struct PluginTables: @unchecked Sendable {
    /// An error in a descriptor.
    package struct DescriptorError: Error {
        package let text: String
    }

    private static let entryLimit = 64

    private let plugin: carillon_plugin
    package let transports: [carillon_transport]
    package let filters: [carillon_filter]

    /// Copies the tables of a descriptor.
    package init(reading pointer: UnsafePointer<carillon_plugin>) throws(DescriptorError) {
        guard let plugin = carillon_plugin(adopting: pointer) else {
            throw DescriptorError(text: "struct_size of carillon_plugin is implausible")
        }
        self.plugin = plugin
        transports = try Self.entries(plugin.transports, plugin.transport_count, "transports")
        filters = try Self.entries(plugin.filters, plugin.filter_count, "filters")
    }

    private static func entries<Entry: ForeignStruct>(
        _ array: UnsafePointer<UnsafePointer<Entry>?>?,
        _ count: Int,
        _ what: String
    ) throws(DescriptorError) -> [Entry] {
        guard count != 0 else { return [] }
        guard (1...entryLimit).contains(count) else { throw DescriptorError(text: "more than \(entryLimit) \(what)") }
        guard let array else { throw DescriptorError(text: "\(what) is NULL, but their count is \(count)") }
        var entries: [Entry] = []
        for pointer in UnsafeBufferPointer(start: array, count: count) {
            guard let pointer else { throw DescriptorError(text: "one of its \(what) is NULL") }
            guard let entry = Entry(adopting: pointer) else {
                throw DescriptorError(text: "struct_size of a \(Entry.self) is implausible")
            }
            entries.append(entry)
        }
        return entries
    }

    /// The library's descriptor. A string or list that breaks the header's limits becomes another invalid one, because
    /// the router judges descriptors.
    package var descriptor: DescriptorMessage {
        DescriptorMessage(
            id: Self.text(plugin.id, limit: 128) ?? "",
            version: Self.text(plugin.version, limit: 64) ?? "",
            abiMinor: plugin.abi_minor,
            transports: transports.map(Self.transport),
            filters: filters.map(Self.filter)
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
}

/// A struct of the ABI that starts with `struct_size` and grows at its end. All its fields are plain C, so that a
/// zeroed value is valid.
package protocol ForeignStruct {
    init()
    var struct_size: UInt32 { get set }
}

extension carillon_plugin: ForeignStruct {}
extension carillon_transport: ForeignStruct {}
extension carillon_filter: ForeignStruct {}
extension carillon_host: ForeignStruct {}
extension carillon_registration: ForeignStruct {}
extension carillon_action: ForeignStruct {}
extension carillon_notification: ForeignStruct {}
extension carillon_http_response: ForeignStruct {}
extension carillon_filter_call: ForeignStruct {}
extension carillon_outcome: ForeignStruct {}
extension carillon_http_request: ForeignStruct {}
extension carillon_client_certificates: ForeignStruct {}
extension carillon_timers: ForeignStruct {}
extension carillon_states: ForeignStruct {}
extension carillon_streams: ForeignStruct {}
extension carillon_stream_target: ForeignStruct {}
extension carillon_stream_events: ForeignStruct {}
extension carillon_delivery: ForeignStruct {}
extension carillon_inbound: ForeignStruct {}
extension carillon_inbound_request: ForeignStruct {}
extension carillon_inbound_answer: ForeignStruct {}

extension ForeignStruct {
    /// The smallest and largest plausible sizes. The minimum is the size field and one more word.
    private static var plausibleSizes: ClosedRange<UInt32> { 8...65_536 }

    /// A copy of the fields at `pointer` that both sides know; the rest is zero. Nil if its size is implausible.
    package init?(adopting pointer: UnsafePointer<Self>) {
        let foreign = UnsafeRawPointer(pointer)
        let size = foreign.loadUnaligned(as: UInt32.self)
        guard Self.plausibleSizes.contains(size) else { return nil }
        self.init()
        withUnsafeMutableBytes(of: &self) { own in
            own.copyMemory(from: UnsafeRawBufferPointer(start: foreign, count: min(Int(size), own.count)))
        }
    }
}
