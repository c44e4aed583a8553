package import CarillonABI

/// What stands behind a filter's instance pointer of the ABI.
package final class FilterBox: Sendable {
    let filter: any PluginFilter
    private let host: Host

    package init(_ filter: any PluginFilter, host: Host) {
        self.filter = filter
        self.host = host
    }

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
