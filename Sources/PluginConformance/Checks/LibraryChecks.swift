import CarillonABI
import Dispatch
import PluginHost

/// What a library is checked for before its transports are.
enum LibraryChecks {
    /// Loads the file as the router does, whatever the folder's other files are.
    static func load(
        _ plan: ConformancePlan
    ) throws(CheckStop) -> (library: CheckedLibrary, descriptor: PluginDescriptor) {
        let path = plan.path
        let candidate = PluginCandidate(name: path.split(separator: "/").last.map(String.init) ?? path, path: path)
        do throws(PluginRefusal) {
            guard !candidate.isPython else {
                let plugin = try PythonPlugin(candidate, in: plan.python)
                return (.python(plugin), plugin.descriptor)
            }
            let file = try PluginFile(candidate, pin: nil)
            do throws(PluginRefusal.Reason) {
                let library = try PluginLibrary.open(file)
                return (.library(library), try library.descriptor())
            } catch {
                throw PluginRefusal(path: path, reason: error)
            }
        } catch {
            throw .failed("\(error.reason)")
        }
    }

    static func descriptor(of library: CheckedLibrary, _ first: PluginDescriptor) throws(CheckStop) -> String {
        // In Python the tables are the router's own.
        guard case .library(let library) = library else { return "\(first.id) \(first.version), in Python" }
        let pointers = (0..<2).map { _ in library.setup.sync { library.entry() } }
        guard case let (pointer?, again?) = (pointers[0], pointers[1]) else {
            throw .failed("carillon_plugin_entry_v1 returned NULL when it was called again: it must be repeatable")
        }
        let second: PluginDescriptor
        do throws(PluginRefusal.Reason) {
            second = try PluginDescriptor(reading: again)
        } catch {
            throw .failed("called again, \(error)")
        }
        guard isSame(first, second) else {
            throw .failed(
                "carillon_plugin_entry_v1 describes another plugin when it is called again: return static tables"
            )
        }
        if let flaw = sizeFlaw(of: pointer) { throw .failed(flaw) }
        return "\(first.id) \(first.version), built with ABI 1.\(first.abiMinor)"
    }

    private static func isSame(_ one: PluginDescriptor, _ other: PluginDescriptor) -> Bool {
        one.id == other.id && one.version == other.version && one.abiMinor == other.abiMinor
            && one.transports.map(\.platform) == other.transports.map(\.platform)
            && one.transports.map(\.document) == other.transports.map(\.document)
            && one.filters.map(\.name) == other.filters.map(\.name)
    }

    /// A plugin that sets `struct_size` to `sizeof` is never below the first release.
    private static func sizeFlaw(of pointer: UnsafePointer<carillon_plugin>) -> String? {
        let plugin = pointer.pointee
        if plugin.struct_size < MemoryLayout<carillon_plugin>.size { return small("carillon_plugin") }
        for index in 0..<plugin.transport_count {
            guard let transport = plugin.transports?[index] else { continue }
            if transport.pointee.struct_size < firstSizeOfTransport { return small("carillon_transport") }
            if transport.pointee.flags & ~transportFlags != 0 {
                return "a transport has flags that do not exist: expected CARILLON_TRANSPORT_ENCRYPTS, _SHOWS, "
                    + "_MANY_PER_TOKEN or none"
            }
        }
        for index in 0..<plugin.filter_count {
            guard let filter = plugin.filters?[index] else { continue }
            if filter.pointee.struct_size < firstSizeOfFilter { return small("carillon_filter") }
            if filter.pointee.flags & ~FilterFunctions.flags != 0 {
                return "a filter has flags that do not exist: expected CARILLON_FILTER_RENDERED or _ASKS_..., or none"
            }
        }
        return nil
    }

    private static let transportFlags = UInt32(
        CARILLON_TRANSPORT_ENCRYPTS | CARILLON_TRANSPORT_SHOWS | CARILLON_TRANSPORT_MANY_PER_TOKEN
    )

    /// Minor version 2 appended `command`.
    private static var firstSizeOfTransport: Int {
        MemoryLayout<carillon_transport>.offset(of: \.command) ?? MemoryLayout<carillon_transport>.size
    }

    /// Minor version 3 appended `needs`.
    private static var firstSizeOfFilter: Int {
        MemoryLayout<carillon_filter>.offset(of: \.needs) ?? MemoryLayout<carillon_filter>.size
    }

    private static func small(_ name: String) -> String {
        "struct_size of \(name) is less than in any release: set it to sizeof(\(name))"
    }
}
