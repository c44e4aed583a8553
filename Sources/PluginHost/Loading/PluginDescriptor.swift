import CarillonABI
import Platforms
import PluginProtocol

/// What a plugin says about itself, checked and copied.
package struct PluginDescriptor: Sendable {
    private static let entriesLimit = 64

    package let id: String
    package let version: String
    package let abiMinor: UInt32
    package let transports: [TransportFunctions]
    package let filters: [FilterFunctions]

    package init(reading pointer: UnsafePointer<carillon_plugin>) throws(PluginRefusal.Reason) {
        guard let plugin = carillon_plugin(adopting: pointer) else {
            throw .badDescriptor("struct_size of carillon_plugin is implausible")
        }
        guard let id = PluginText.name(plugin.id, limit: 128) else {
            throw .badDescriptor("id must be 1 to 128 bytes of printable UTF-8")
        }
        guard let version = PluginText.name(plugin.version, limit: 64) else {
            throw .badDescriptor("version must be 1 to 64 bytes of printable UTF-8")
        }
        self.id = id
        self.version = version
        abiMinor = plugin.abi_minor
        transports = try Self.entries(plugin.transports, plugin.transport_count, "transports")
            .map { pointer throws(PluginRefusal.Reason) in try TransportFunctions(reading: pointer) }
        filters = try Self.entries(plugin.filters, plugin.filter_count, "filters")
            .map { pointer throws(PluginRefusal.Reason) in try FilterFunctions(reading: pointer) }
        guard !transports.isEmpty || !filters.isEmpty else {
            throw .badDescriptor("it offers neither a transport nor a filter")
        }
    }

    /// The same descriptor with other functions.
    init(_ descriptor: PluginDescriptor, transports: [TransportFunctions], filters: [FilterFunctions]) {
        id = descriptor.id
        version = descriptor.version
        abiMinor = descriptor.abiMinor
        self.transports = transports
        self.filters = filters
    }

    /// The descriptions of the platforms that the plugin describes.
    package var descriptions: [String: PlatformDescription] {
        // A platform that is named twice is refused elsewhere.
        Dictionary(transports.compactMap { entry in entry.description.map { (entry.platform, $0) } }) { first, _ in
            first
        }
    }

    private static func entries<Entry>(
        _ array: UnsafePointer<UnsafePointer<Entry>?>?,
        _ count: Int,
        _ what: String
    ) throws(PluginRefusal.Reason) -> [UnsafePointer<Entry>] {
        guard count != 0 else { return [] }
        guard (1...entriesLimit).contains(count) else { throw .badDescriptor("more than \(entriesLimit) \(what)") }
        guard let array else { throw .badDescriptor("\(what) is NULL, but their count is \(count)") }
        let entries = UnsafeBufferPointer(start: array, count: count).compactMap(\.self)
        guard entries.count == count else { throw .badDescriptor("one of its \(what) is NULL") }
        return entries
    }
}
