public import CarillonABI

/// Builds the static tables that a plugin's entry function returns.
///
/// ```swift
/// private nonisolated(unsafe) let plugin = PluginDescriptor.make(id: "org.example.pager", version: "1.0.0", …)
///
/// @c(carillon_plugin_entry_v1) @implementation
/// public func carillon_plugin_entry_v1() -> UnsafePointer<carillon_plugin>? { plugin }
/// ```
public enum PluginDescriptor {
    /// Returns a `carillon_plugin` that lives until the process ends. Build it once, in a global of the target that
    /// exports the entry function.
    public static func make(
        id: StaticString,
        version: StaticString,
        transports: [TransportEntry] = [],
        filters: [FilterEntry] = []
    ) -> UnsafePointer<carillon_plugin> {
        let tables = UnsafeMutablePointer<UnsafePointer<carillon_transport>?>.allocate(capacity: transports.count)
        for (index, entry) in transports.enumerated() {
            tables.advanced(by: index).initialize(to: entry.table())
        }
        let filterTables = UnsafeMutablePointer<UnsafePointer<carillon_filter>?>.allocate(capacity: filters.count)
        for (index, entry) in filters.enumerated() {
            filterTables.advanced(by: index).initialize(to: entry.table())
        }
        let plugin = UnsafeMutablePointer<carillon_plugin>.allocate(capacity: 1)
        plugin.initialize(
            to: carillon_plugin(
                struct_size: UInt32(MemoryLayout<carillon_plugin>.size),
                abi_minor: UInt32(CARILLON_ABI_MINOR),
                id: carillon_str(id),
                version: carillon_str(version),
                transports: UnsafePointer(tables),
                transport_count: transports.count,
                filters: UnsafePointer(filterTables),
                filter_count: filters.count
            )
        )
        return UnsafePointer(plugin)
    }
}

/// A struct of the ABI that starts with `struct_size` and grows at its end.
protocol GrowingStruct {
    /// All zero, which is also the value of fields that an older host does not have.
    init()
}

extension carillon_host: GrowingStruct {}
extension carillon_client_certificates: GrowingStruct {}
extension carillon_timers: GrowingStruct {}
extension carillon_states: GrowingStruct {}
extension carillon_streams: GrowingStruct {}
extension carillon_registration: GrowingStruct {}
extension carillon_notification: GrowingStruct {}
extension carillon_action: GrowingStruct {}
extension carillon_http_response: GrowingStruct {}
extension carillon_filter_call: GrowingStruct {}

extension GrowingStruct {
    /// Copies the fields that both the struct behind `pointer` and this build have; the rest is zero.
    static func adopt(_ pointer: UnsafePointer<Self>) -> Self {
        var own = Self()
        let foreign = UnsafeRawPointer(pointer)
        let size = min(Int(foreign.loadUnaligned(as: UInt32.self)), MemoryLayout<Self>.size)
        withUnsafeMutableBytes(of: &own) { room in
            room.copyMemory(from: UnsafeRawBufferPointer(start: foreign, count: size))
        }
        return own
    }
}

extension carillon_bytes {
    /// A static text as an ABI string, valid until the process ends.
    init(_ text: StaticString) {
        self.init(ptr: text.utf8Start, len: text.utf8CodeUnitCount)
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(ptr: bytes.baseAddress, len: bytes.count)
    }
}
