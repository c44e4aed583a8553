public import CarillonABI

/// One filter of a plugin: what it is, and the C function that creates it.
public struct FilterEntry {
    /// The type of the ABI's `create`.
    public typealias Create = TransportEntry.Create

    private let name: StaticString
    private let wantedKinds: [UInt32]
    private let flags: UInt32
    private let create: Create

    /// `create` is a closure that calls ``make(_:_:_:_:_:)`` with the filter's type: a C function cannot be generic, so
    /// the plugin has to name the type where the function is written.
    public init<Filter: PluginFilter>(_ type: Filter.Type, create: @escaping Create) {
        name = type.name
        wantedKinds = type.wantedKinds
        flags = type.mostNeeded.flags | (type.isAskedAfterRendering ? UInt32(CARILLON_FILTER_RENDERED) : 0)
        self.create = create
    }

    /// The body of an ABI `create`: reads the settings, makes the filter and hands out its pointer.
    public static func make<Filter: PluginFilter>(
        _ type: Filter.Type,
        _ host: UnsafePointer<carillon_host>?,
        _ configuration: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let pointer = host, let instance else { return .CARILLON_INVALID }
        do throws(PluginError) {
            let host = try Host(pointer)
            let filter = try type.init(configuration: TransportEntry.parsed(configuration), host: host)
            instance.pointee = FilterBox(filter, host: host).retainedPointer()
            return .CARILLON_OK
        } catch let mistake {
            TimerCallbacks.removeAll(of: pointer)
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
    }

    /// A table that lives until the process ends.
    func table() -> UnsafePointer<carillon_filter> {
        let kinds = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, wantedKinds.count))
        kinds.initialize(from: wantedKinds, count: wantedKinds.count)
        let filter = UnsafeMutablePointer<carillon_filter>.allocate(capacity: 1)
        filter.initialize(
            to: carillon_filter(
                struct_size: UInt32(MemoryLayout<carillon_filter>.size),
                flags: flags,
                name: carillon_str(name),
                wanted_kinds: UnsafePointer(kinds),
                wanted_kind_count: wantedKinds.count,
                create: create,
                destroy: destroyFilter,
                decide: askFilter,
                needs: needsOfFilter
            )
        )
        return UnsafePointer(filter)
    }
}

// Functions and not closures: a closure passed to a C struct's initialiser inherits its context's isolation.

private func destroyFilter(_ instance: UnsafeMutableRawPointer?) {
    guard let instance else { return }
    FilterBox.release(instance)
}

private func askFilter(
    _ instance: UnsafeMutableRawPointer?,
    _ call: UnsafePointer<carillon_filter_call>?,
    _ verdict: UnsafeMutablePointer<carillon_verdict>?
) -> carillon_status {
    guard let instance, let call, let verdict else { return .CARILLON_INVALID }
    return FilterBox.at(instance).decide(call, verdict)
}

private func needsOfFilter(_ instance: UnsafeMutableRawPointer?) -> UInt32 {
    guard let instance else { return 0 }
    return FilterBox.at(instance).filter.need.flags
}

/// What stands behind a filter's instance pointer of the ABI.
package final class FilterBox: Sendable {
    let filter: any PluginFilter
    private let host: Host

    package init(_ filter: any PluginFilter, host: Host) {
        self.filter = filter
        self.host = host
    }

    // No timer fires any more, but what each would call is still kept.
    deinit { TimerCallbacks.removeAll(of: host.pointer) }

    /// The body of the ABI's `decide`.
    package func decide(
        _ pointer: UnsafePointer<carillon_filter_call>,
        _ verdict: UnsafeMutablePointer<carillon_verdict>
    ) -> carillon_status {
        let call = FilterCall(pointer)
        do throws(PluginError) {
            switch try filter.decide(call) {
            case .pass: verdict.pointee = .CARILLON_PASS
            case .drop(let reason):
                verdict.pointee = .CARILLON_DROP
                call.set("reason", reason)
            }
            return .CARILLON_OK
        } catch {
            host.log(.debug, "cannot decide: \(error)")
            return .CARILLON_FAILED
        }
    }

    /// An instance pointer that keeps the box alive until ``release(_:)``.
    func retainedPointer() -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(self).toOpaque()
    }

    /// The box behind `instance`, which the host keeps alive for the duration of its call.
    static func at(_ instance: UnsafeMutableRawPointer) -> FilterBox {
        Unmanaged<FilterBox>.fromOpaque(instance).takeUnretainedValue()
    }

    static func release(_ instance: UnsafeMutableRawPointer) {
        Unmanaged<FilterBox>.fromOpaque(instance).release()
    }
}
